import type { BankTerms } from './bank-connection.js';
import {
  arrivalMaxMs,
  type Evidence,
  maySubmit,
  provesFailure,
  remembers,
} from './submission-rule.js';

const terms: BankTerms = { submissionInFlightMaxMs: 10, referenceMemoryMs: 1_000 };
const claimedAtMs = 5_000;

describe('a claimed payment', () => {
  it('may be submitted while the submission is sure to arrive within the bank’s memory', () => {
    expect(maySubmit(terms, claimedAtMs, claimedAtMs)).toBe(true);
    expect(maySubmit(terms, claimedAtMs, claimedAtMs + 979)).toBe(true);
    expect(maySubmit(terms, claimedAtMs, claimedAtMs + 980)).toBe(false);
    expect(maySubmit(terms, claimedAtMs, claimedAtMs + 365 * 24 * 3_600_000)).toBe(false);
  });

  it.each<[Evidence, number, number, boolean]>([
    ['error', 5_000, 5_000, true],
    ['error', 5_990, 5_999, true],
    ['error', 5_000, 6_000, false],
    ['voided', 5_000, 5_000, true],
    ['voided', 5_000, 5_999, true],
    // The bank no longer knows what it executed.
    ['voided', 5_000, 6_000, false],
    ['unknown', 5_000, 5_000, false],
    ['unknown', 5_000, 5_019, false],
    ['unknown', 5_000, 5_020, true],
    // A later submission may still be under way.
    ['unknown', 5_500, 5_519, false],
    ['unknown', 5_500, 5_520, true],
    ['unknown', 5_500, 6_000, false],
  ])('%s, last noted at %d and asked at %d: FAILED is %s', (evidence, noted, asked, failed) => {
    const submissions = { claimedAtMs, lastNotedAtMs: noted, askedAtMs: asked };
    expect(provesFailure(evidence, terms, submissions)).toBe(failed);
  });

  it('is remembered by the bank from its claim on', () => {
    expect(remembers(terms, claimedAtMs, claimedAtMs + 999)).toBe(true);
    expect(remembers(terms, claimedAtMs, claimedAtMs + 1_000)).toBe(false);
    expect(arrivalMaxMs(terms)).toBe(20);
  });
});
