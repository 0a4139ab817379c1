/**
 * The texts that this process has sealed or opened last. It opens most texts again soon: what it has just appended comes back
 * from the log, the account of an originator and the secret of a webhook endpoint are needed for every payment.
 */
import type { KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Owner } from './owner.js';
import type { Sealed } from './port.js';

const textsMax = 2_000;
/** Sealed. A longer text is opened each time, so all of them together stay below 10 MB. */
const lengthMax = 2_048;
const beginningLength = 32;

interface OpenedText {
  readonly sealed: Sealed;
  readonly owner: Owner;
  readonly place: string | undefined;
  readonly key: KeyObject;
  readonly version: number;
  readonly plaintext: string;
}

export class OpenedTexts {
  private readonly texts = new LRUCache<string, OpenedText>({ max: textsMax });

  /** Undefined unless this very text was opened for the same owner and place. The caller compares the key. */
  find(sealed: Sealed, owner: Owner, place: string | undefined): OpenedText | undefined {
    const known = this.texts.get(beginningOf(sealed));
    const isSame = known?.sealed === sealed && known.owner === owner && known.place === place;
    return isSame ? known : undefined;
  }

  remember(opened: OpenedText): void {
    const { sealed } = opened;
    if (sealed.length <= lengthMax) this.texts.set(beginningOf(sealed), opened);
  }

  clear(): void {
    this.texts.clear();
  }
}

/** With the nonce, which no other text has. To hash whole texts took a fifth of the time to seal and open them. */
function beginningOf(sealed: Sealed): string {
  return sealed.slice(0, beginningLength);
}
