/**
 * Envelope encryption. What always holds: a data key leaves this library only wrapped, a sealed text opens
 * only for the owner and the place it was sealed for, and two seals of one text never look alike.
 *
 *   sealed text           v2.<key version>.<iv>.<ciphertext + tag>          iv and text in base64url
 *   sealed for a place    v3.<key version>.<iv>.<ciphertext + tag>
 *   sealed bytes          form (1 byte), key version (4), iv (12), ciphertext, tag (16)
 */
import { createSecretKey, type KeyObject } from 'node:crypto';
import { CannotOpen, decrypt, encrypt, ivBytes, KeyDestroyed, tagBytes } from './cipher.js';
import { DataKeys } from './data-keys.js';
import type { DataKeyTable } from './data-key-table.js';
import { Macs } from './macs.js';
import { type MasterKeys, v1KeyOf } from './master-keys.js';
import { OpenedTexts } from './opened-texts.js';
import type { Owner } from './owner.js';
import type { Keyring, Sealed, SealedText } from './port.js';
import { parseV1, v1DigestOf, v1SealedFor, type V1Text } from './v1-texts.js';

/** The first of sealed bytes: the form of version 1. */
const bytesForm = 1;
const headerBytes = 5;
/** How much longer sealed bytes are. */
export const sealedBytesOverhead = headerBytes + ivBytes + tagBytes;

const sealedForm = /^(v2|v3)\.(\d{1,9})\.([\w-]+)\.([\w-]+)$/;

/** A keyring of a process. It makes MACs as soon as it has the MAC root; see mac-root.ts. */
export interface StoredKeyring extends Keyring {
  readonly masterKeys: MasterKeys;
  useMacRoot(root: Buffer): void;
}

export interface KeyringOptions {
  readonly masterKeys: MasterKeys;
  readonly table: DataKeyTable;
  /** A steady clock. */
  readonly nowMs?: () => number;
}

export function createKeyring({ masterKeys, table, nowMs }: KeyringOptions): StoredKeyring {
  const openedTexts = new OpenedTexts();
  const dataKeys = new DataKeys(table, masterKeys, { nowMs, onClear: () => openedTexts.clear() });
  const macs = new Macs();

  /** Destroyed owners first: their texts of version 1 would open with the master key alone. */
  async function v1Key(owner: Owner, wrappedKey: string): Promise<KeyObject> {
    const digest = v1DigestOf(wrappedKey);
    const imported = await dataKeys.imported(owner, digest);
    if (imported !== null) return imported;
    const { keyId, wrapped } = v1KeyOf(wrappedKey);
    if (masterKeys.ids.includes(keyId)) return createSecretKey(masterKeys.unwrapV1(wrapped, keyId));
    const importedSince = await dataKeys.importedNow(owner, digest);
    return importedSince ?? createSecretKey(masterKeys.unwrapV1(wrapped, keyId));
  }

  async function openV1({ wrappedKey, iv, text }: V1Text, owner: Owner): Promise<string> {
    const key = await v1Key(owner, wrappedKey);
    return decrypt(key, encryptedOf(iv, text), v1SealedFor(owner)).toString('utf8');
  }

  async function open(sealed: Sealed, owner: Owner, place?: string): Promise<string> {
    const known = openedTexts.find(sealed, owner, place);
    if (known !== undefined && (await dataKeys.withVersion(owner, known.version)) === known.key)
      return known.plaintext;
    const [, form, version, iv, text] = sealedForm.exec(sealed) ?? [];
    if (version === undefined || iv === undefined || text === undefined) {
      const v1 = parseV1(sealed);
      if (v1 === null) throw new CannotOpen('not a sealed text of a known version');
      return openV1(v1, owner);
    }
    if (form === 'v3' && place === undefined)
      throw new CannotOpen('the text was sealed for a place, and none is given');
    const key = await dataKeys.withVersion(owner, Number(version));
    const additionalData = sealedFor(owner, Number(version), form === 'v3' ? place : undefined);
    const plaintext = decrypt(key, encryptedOf(iv, text), additionalData).toString('utf8');
    openedTexts.remember({ sealed, key, version: Number(version), owner, place, plaintext });
    return plaintext;
  }

  return {
    masterKeys,
    activeKeyId: masterKeys.activeKeyId,
    useMacRoot: (root) => macs.useRoot(root),
    mac: (purpose, text) => macs.mac(purpose, text),
    open,
    openAll: (texts) => Promise.all(texts.map((text) => openOrNull(open, text))),
    destroy: (owners) => dataKeys.destroy(owners),

    async destroyedOf(owners) {
      const destroyed = await Promise.all(owners.map((owner) => dataKeys.isDestroyed(owner)));
      return new Set(owners.filter((_, index) => destroyed[index]));
    },

    async sealBytes(owner, bytes, place) {
      const { key, version } = await dataKeys.current(owner);
      const header = Buffer.alloc(headerBytes);
      header.writeUInt8(bytesForm, 0);
      header.writeUInt32BE(version, 1);
      const { iv, text } = encrypt(key, bytes, bytesSealedFor(owner, version, place));
      return Buffer.concat([header, iv, text]);
    },

    async openBytes(sealed, owner, place) {
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
      if (bytes.length < sealedBytesOverhead || bytes.readUInt8(0) !== bytesForm)
        throw new CannotOpen('not sealed bytes of a known form');
      const version = bytes.readUInt32BE(1);
      const key = await dataKeys.withVersion(owner, version);
      const textAt = headerBytes + ivBytes;
      const encrypted = { iv: bytes.subarray(headerBytes, textAt), text: bytes.subarray(textAt) };
      return decrypt(key, encrypted, bytesSealedFor(owner, version, place));
    },

    async seal(owner, plaintext, place) {
      const { key, version } = await dataKeys.current(owner);
      const additionalData = sealedFor(owner, version, place);
      const { iv, text } = encrypt(key, Buffer.from(plaintext), additionalData);
      const form = place === undefined ? 'v2' : 'v3';
      const sealed = `${form}.${version}.${iv.toString('base64url')}.${text.toString('base64url')}`;
      // A lone surrogate is sealed as another character.
      if (plaintext.isWellFormed())
        openedTexts.remember({ sealed, key, version, owner, place, plaintext });
      return sealed;
    },
  };
}

async function openOrNull(
  open: Keyring['open'],
  { sealed, owner, place }: SealedText,
): Promise<string | null> {
  try {
    return await open(sealed, owner, place);
  } catch (error) {
    if (error instanceof KeyDestroyed) return null;
    throw error;
  }
}

/** The additional data of a sealed text: it does not open for another record, version or place. */
function sealedFor(owner: Owner, version: number, place: string | undefined): string {
  // No owner has a space.
  return place === undefined ? `v2/${version}/${owner}` : `v3/${version}/${owner} ${place}`;
}

/** Differs from that of every text: no text opens as bytes. */
function bytesSealedFor(owner: Owner, version: number, place: string): string {
  return `bytes${bytesForm}/${version}/${owner} ${place}`;
}

function encryptedOf(iv: string, text: string) {
  return { iv: Buffer.from(iv, 'base64url'), text: Buffer.from(text, 'base64url') };
}
