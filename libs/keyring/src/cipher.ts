/** AES-256-GCM as the keyring uses it, and the two errors of opening. */
import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';

/** Of every key: master keys, data keys and the MAC root. */
export const keyBytes = 32;
/** NIST SP 800-38D: 96-bit random nonces; a key seals far fewer texts than their 2^32 bound. */
export const ivBytes = 12;
export const tagBytes = 16;

/** Give up: the text was altered, is another owner's, or its data key is not in the table. */
export class CannotOpen extends Error {
  override readonly name = 'CannotOpen';
}

/** Give up: the owner was erased. Nothing of it can be opened or sealed again. */
export class KeyDestroyed extends Error {
  override readonly name = 'KeyDestroyed';
  constructor(readonly owner: string) {
    super(`the data keys of ${owner} were destroyed`);
  }
}

export interface Encrypted {
  readonly iv: Buffer;
  /** Ciphertext and tag. */
  readonly text: Buffer;
}

export function encrypt(key: KeyObject, plaintext: Uint8Array, additionalData: string): Encrypted {
  const iv = nonce();
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(additionalData));
  const parts = [cipher.update(plaintext), cipher.final()];
  return { iv, text: Buffer.concat([...parts, cipher.getAuthTag()]) };
}

/** Random bytes for many nonces at once: a system call for each would take as long as the encryption. */
const noncesAtOnce = 256;
let randomPool = Buffer.alloc(0);
let used = 0;

/** Each byte of the pool is used once. */
function nonce(): Buffer {
  if (used === randomPool.length) {
    randomPool = randomBytes(ivBytes * noncesAtOnce);
    used = 0;
  }
  used += ivBytes;
  return randomPool.subarray(used - ivBytes, used);
}

/** @throws CannotOpen */
export function decrypt(key: KeyObject, { iv, text }: Encrypted, additionalData: string): Buffer {
  if (iv.length !== ivBytes || text.length < tagBytes)
    throw new CannotOpen('the text is not whole');
  const tagAt = text.length - tagBytes;
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(additionalData));
  decipher.setAuthTag(text.subarray(tagAt));
  try {
    return Buffer.concat([decipher.update(text.subarray(0, tagAt)), decipher.final()]);
  } catch (cause) {
    throw new CannotOpen('the text was altered or is another record’s', { cause });
  }
}

/** One text of iv and ciphertext, for keys that are wrapped. */
export function joined({ iv, text }: Encrypted): string {
  return Buffer.concat([iv, text]).toString('base64url');
}

export function split(text: string): Encrypted {
  const bytes = Buffer.from(text, 'base64url');
  return { iv: bytes.subarray(0, ivBytes), text: bytes.subarray(ivBytes) };
}

/** Null where `open` throws CannotOpen. */
export function orNull<Result>(open: () => Result): Result | null {
  try {
    return open();
  } catch (error) {
    if (error instanceof CannotOpen) return null;
    throw error;
  }
}
