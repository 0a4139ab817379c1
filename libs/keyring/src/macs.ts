/** The MAC root and the keys derived from it, one for each purpose. */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { StoreUnavailable } from '@pis/event-store';
import { LRUCache } from 'lru-cache';

const macKeysMax = 64;

/** HKDF-Expand (RFC 5869) of one block: 32 bytes. */
function expand(root: Buffer, info: string): Buffer {
  return createHmac('sha256', root).update(info).update(Buffer.of(1)).digest();
}

export class Macs {
  private root: Buffer | null = null;
  private readonly keys = new LRUCache<string, KeyObject>({ max: macKeysMax });

  useRoot(root: Buffer): void {
    this.keys.clear();
    this.root = root;
  }

  /** HMAC-SHA-256, hex. @throws StoreUnavailable without a root */
  mac(purpose: string, text: string): string {
    let key = this.keys.get(purpose);
    if (key === undefined) {
      if (this.root === null)
        throw new StoreUnavailable('this process has not read its MAC root yet');
      key = createSecretKey(expand(this.root, `pis/v1/mac/${purpose}`));
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
