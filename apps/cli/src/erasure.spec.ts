import { keyAgeMaxMs } from '@pis/keyring';
import { erasureWaits } from './erasure.js';

/** "Everything within 10 s and in every process" (rule erasure-5). */
const erasureLimitMs = 10_000;
/** Left for the start of the command, the check of the payments, and the first pass over the tables. */
const workMs = 3_000;

it('the waits of an erasure leave three of its ten seconds for its work', () => {
  const { settleMs, keysInUseMs } = erasureWaits;
  expect(settleMs + keysInUseMs).toBeLessThanOrEqual(erasureLimitMs - workMs);
});

it('an erasure is recorded only when no process uses the keys any more', () => {
  expect(erasureWaits.keysInUseMs).toBeGreaterThan(keyAgeMaxMs);
});
