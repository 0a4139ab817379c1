/**
 * The texts that this process has sealed or opened last. It opens most texts again soon: what it has just appended comes back
 * from the log, the account of an originator and the secret of a webhook endpoint are needed for every payment.
 */
import type { KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Sealed } from './port.js';

const textsMax = 2_000;
/** Sealed. A longer text is opened each time, so all of them together stay below 10 MB. */
const lengthMax = 2_048;

interface OpenedText {
  readonly key: KeyObject;
  readonly additionalData: string;
  readonly plaintext: string;
}

export class OpenedTexts {
  private readonly texts = new LRUCache<Sealed, OpenedText>({ max: textsMax });

  /** Undefined unless this very text was opened with this key, for the same owner and place. */
  find(sealed: Sealed, key: KeyObject, additionalData: string): string | undefined {
    const known = this.texts.get(sealed);
    const isSame = known?.key === key && known.additionalData === additionalData;
    return isSame ? known.plaintext : undefined;
  }

  remember(sealed: Sealed, opened: OpenedText): void {
    if (sealed.length <= lengthMax) this.texts.set(sealed, opened);
  }

  clear(): void {
    this.texts.clear();
  }
}
