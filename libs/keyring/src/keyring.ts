/**
 * Envelope encryption under one master key. What always holds: a data key leaves this file only
 * wrapped, a sealed text opens only for the owner it was sealed for, and two seals of one text
 * never look alike.
 *
 *   wrapped key   <masterKeyId>.<iv + encrypted data key + tag>
 *   sealed text   v1.<wrapped key>.<iv>.<ciphertext + tag>          each part base64url
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Owner } from './owner.js';
import type { Keyring, Sealed, WrappedKey } from './port.js';

const version = 'v1';
const keyBytes = 32;
/** NIST SP 800-38D: 96-bit random nonces; a data key seals far fewer texts than their 2^32 bound. */
const ivBytes = 12;
const tagBytes = 16;
const masterKeyIdBytes = 6;
const dataKeysMax = 10_000;
const macKeysMax = 64;

/** Give up: the text was altered, is another owner's, or another master key sealed it. */
export class CannotOpen extends Error {
  override readonly name = 'CannotOpen';
}

export interface KeyringOptions {
  /** 32 bytes. */
  readonly masterKey: Buffer;
}

export function createKeyring({ masterKey }: KeyringOptions): Keyring {
  if (masterKey.length !== keyBytes) throw new Error(`a master key has ${keyBytes} bytes`);
  const derive = (info: string, length: number) =>
    Buffer.from(hkdfSync('sha256', masterKey, '', `pis/${version}/${info}`, length));
  const masterKeyId = derive('master-key-id', masterKeyIdBytes).toString('base64url');
  // Key objects, not bytes: with bytes, each use takes Node 24 up to four times as long.
  const wrappingKey = createSecretKey(derive('wrap', keyBytes));
  // Unwrapping on each use would double the work; bounded, because the keys are secrets in memory.
  const dataKeys = new LRUCache<WrappedKey, KeyObject>({ max: dataKeysMax });
  const macKeys = new LRUCache<string, KeyObject>({ max: macKeysMax });

  function unwrap(wrapped: WrappedKey): KeyObject {
    const cached = dataKeys.get(wrapped);
    if (cached) return cached;
    const [keyId, encrypted, ...rest] = wrapped.split('.');
    if (keyId !== masterKeyId || encrypted === undefined || rest.length > 0)
      throw new CannotOpen('the data key is not of this master key');
    const bytes = Buffer.from(encrypted, 'base64url');
    const iv = bytes.subarray(0, ivBytes);
    const dataKey = createSecretKey(decrypt(wrappingKey, iv, bytes.subarray(ivBytes), keyId));
    dataKeys.set(wrapped, dataKey);
    return dataKey;
  }

  return {
    masterKeyId,

    createDataKey() {
      const dataKey = randomBytes(keyBytes);
      const { iv, encrypted } = encrypt(wrappingKey, dataKey, masterKeyId);
      const wrapped = `${masterKeyId}.${Buffer.concat([iv, encrypted]).toString('base64url')}`;
      dataKeys.set(wrapped, createSecretKey(dataKey));
      return wrapped;
    },

    seal(wrapped, plaintext, owner) {
      const { iv, encrypted } = encrypt(unwrap(wrapped), Buffer.from(plaintext), sealedFor(owner));
      return [version, wrapped, iv.toString('base64url'), encrypted.toString('base64url')].join(
        '.',
      );
    },

    open(sealed: Sealed, owner) {
      const [sealedVersion, keyId, key, iv, encrypted, ...rest] = sealed.split('.');
      if (
        sealedVersion !== version ||
        iv === undefined ||
        encrypted === undefined ||
        rest.length > 0
      )
        throw new CannotOpen('not a sealed text of a known version');
      const ivAndText = [iv, encrypted].map((part) => Buffer.from(part, 'base64url'));
      const [nonce = Buffer.alloc(0), text = Buffer.alloc(0)] = ivAndText;
      return decrypt(unwrap(`${keyId}.${key}`), nonce, text, sealedFor(owner)).toString('utf8');
    },

    mac(purpose, text) {
      let key = macKeys.get(purpose);
      if (!key) {
        key = createSecretKey(derive(`mac/${purpose}`, keyBytes));
        macKeys.set(purpose, key);
      }
      return createHmac('sha256', key).update(text).digest('hex');
    },
  };
}

/** The additional data of a sealed text: it does not open for another record or version. */
function sealedFor(owner: Owner): string {
  return `${version}/${owner}`;
}

function encrypt(key: KeyObject, plaintext: Buffer, additionalData: string) {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(additionalData));
  const text = [cipher.update(plaintext), cipher.final()];
  return { iv, encrypted: Buffer.concat([...text, cipher.getAuthTag()]) };
}

function decrypt(key: KeyObject, iv: Buffer, encrypted: Buffer, additionalData: string): Buffer {
  if (iv.length !== ivBytes || encrypted.length < tagBytes)
    throw new CannotOpen('the text is not whole');
  const tagAt = encrypted.length - tagBytes;
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(additionalData));
  decipher.setAuthTag(encrypted.subarray(tagAt));
  try {
    return Buffer.concat([decipher.update(encrypted.subarray(0, tagAt)), decipher.final()]);
  } catch (cause) {
    throw new CannotOpen('the text was altered or is another record’s', { cause });
  }
}
