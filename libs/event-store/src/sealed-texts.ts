/**
 * Remembers for a moment what each personal text was sealed to. The payments of a busy party hold the same
 * profile: they get copies of one sealed text, and nothing is encrypted again.
 *
 * What always holds:
 * - a text is given out for maxAgeMs at most. The key of its owner may have been destroyed meanwhile: then
 *   the text does not open;
 * - no plain text is kept, only its SHA-256. An idle process keeps the last hashes and sealed texts, which
 *   are bounded in number.
 */
import { hash } from 'node:crypto';
import type { PersonalOwner } from '@pis/domain';
import type { Sealing } from './port.js';

export interface SealedTextsLimits {
  readonly textsMax: number;
  readonly maxAgeMs: number;
}

export const sealedTextsLimits: SealedTextsLimits = {
  textsMax: 10_000,
  maxAgeMs: 4_000,
};

interface Remembered {
  readonly sealed: Promise<string>;
  readonly untilMs: number;
}

export class SealedTexts {
  /** By the hash of owner and plain text, the oldest first. */
  private readonly remembered = new Map<string, Remembered>();
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
    // No owner has a space.
    const key = hash('sha256', `${owner} ${plaintext}`, 'base64url');
    const known = this.remembered.get(key);
    if (known !== undefined) return known.sealed;
    const sealed = this.sealing.seal(owner, plaintext);
    const entry = { sealed, untilMs: nowMs + this.limits.maxAgeMs };
    this.remembered.set(key, entry);
    // The caller sees the failure; the next one tries again.
    sealed.catch(() => {
      if (this.remembered.get(key) === entry) this.remembered.delete(key);
    });
    return sealed;
  }

  /** All live equally long, so the oldest ends first. */
  private dropOld(nowMs: number): void {
    for (const [key, { untilMs }] of this.remembered) {
      const isFull = this.remembered.size >= this.limits.textsMax;
      if (untilMs > nowMs && !isFull) return;
      this.remembered.delete(key);
    }
  }
}
