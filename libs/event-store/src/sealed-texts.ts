/**
 * Remembers for a moment what each personal text was sealed to. The payments of a busy party hold the same
 * profile: they get copies of one sealed text, and nothing is encrypted again.
 *
 * What always holds: a text is given out for maxAgeMs at most, so a destroyed key stops being used as
 * quickly as in the keyring. The plain texts in memory are bounded in number and size.
 */
import type { PersonalOwner } from '@pis/domain';
import type { Sealing } from './port.js';

export interface SealedTextsLimits {
  readonly textsMax: number;
  /** Of all plain texts together, in UTF-16 code units. */
  readonly lengthMax: number;
  readonly maxAgeMs: number;
}

export const sealedTextsLimits: SealedTextsLimits = {
  textsMax: 10_000,
  lengthMax: 8_000_000,
  maxAgeMs: 4_000,
};

interface Remembered {
  readonly sealed: Promise<string>;
  readonly untilMs: number;
}

export class SealedTexts {
  /** By owner and plain text, the oldest first. */
  private readonly remembered = new Map<string, Remembered>();
  private length = 0;
  private readonly limits: SealedTextsLimits;

  constructor(
    private readonly sealing: Sealing,
    limits: Partial<SealedTextsLimits> = {},
  ) {
    this.limits = { ...sealedTextsLimits, ...limits };
  }

  /** @throws as the keyring */
  seal(owner: PersonalOwner, plaintext: string): Promise<string> {
    const nowMs = performance.now();
    this.dropOld(nowMs);
    const key = `${owner} ${plaintext}`;
    const known = this.remembered.get(key);
    if (known !== undefined) return known.sealed;
    const sealed = this.sealing.seal(owner, plaintext);
    const entry = { sealed, untilMs: nowMs + this.limits.maxAgeMs };
    this.remembered.set(key, entry);
    this.length += key.length;
    // The caller sees the failure; the next one tries again.
    sealed.catch(() => {
      if (this.remembered.get(key) === entry) this.drop(key);
    });
    return sealed;
  }

  /** All live equally long, so the oldest ends first. */
  private dropOld(nowMs: number): void {
    const { textsMax, lengthMax } = this.limits;
    for (const [key, { untilMs }] of this.remembered) {
      const isFull = this.remembered.size >= textsMax || this.length >= lengthMax;
      if (untilMs > nowMs && !isFull) return;
      this.drop(key);
    }
  }

  private drop(key: string): void {
    if (this.remembered.delete(key)) this.length -= key.length;
  }
}
