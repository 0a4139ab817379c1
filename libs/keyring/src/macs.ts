/** The MAC root and the keys derived from it, one for each purpose. */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { StoreUnavailable } from '@pis/event-store';
import { LRUCache } from 'lru-cache';
import { keyBytes } from './cipher.js';

const macKeysMax = 64;
/**
 * The purposes of the releases without a MAC root. In a store of theirs the keys of these purposes follow the
 * root, in this order. Never change it.
 */
export const legacyPurposes: readonly string[] = [
  'store-binding',
  'contact-identity',
  'bank-account',
  'cursor',
  'stream-snapshot',
];
const legacyRootBytes = keyBytes * (1 + legacyPurposes.length);

export function macInfo(purpose: string): string {
  return `pis/v1/mac/${purpose}`;
}

function keyUnder(root: Buffer, purpose: string): Buffer {
  const legacyAt = keyBytes * (1 + legacyPurposes.indexOf(purpose));
  if (root.length === legacyRootBytes && legacyAt > 0)
    return root.subarray(legacyAt, legacyAt + keyBytes);
  // HKDF-Expand (RFC 5869) of one block: 32 bytes.
  const random = root.subarray(0, keyBytes);
  return createHmac('sha256', random).update(macInfo(purpose)).update(Buffer.of(1)).digest();
}

export class Macs {
  private root: Buffer | null = null;
  private readonly keys = new LRUCache<string, KeyObject>({ max: macKeysMax });

  /** @param root 32 random bytes; in a store of an older release also the keys of its purposes */
  useRoot(root: Buffer): void {
    if (root.length !== keyBytes && root.length !== legacyRootBytes)
      throw new Error(`a MAC root has ${keyBytes} or ${legacyRootBytes} bytes`);
    this.keys.clear();
    this.root = root;
  }

  /** HMAC-SHA-256, hex. @throws StoreUnavailable without a root */
  mac(purpose: string, text: string): string {
    let key = this.keys.get(purpose);
    if (key === undefined) {
      if (this.root === null)
        throw new StoreUnavailable('this process has not read its MAC root yet');
      key = createSecretKey(keyUnder(this.root, purpose));
      this.keys.set(purpose, key);
    }
    return createHmac('sha256', key).update(text).digest('hex');
  }
}

/** The MAC under a root that is not in use yet. */
export function macUnder(root: Buffer, purpose: string, text: string): string {
  const macs = new Macs();
  macs.useRoot(root);
  return macs.mac(purpose, text);
}
