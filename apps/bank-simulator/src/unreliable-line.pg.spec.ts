import type { SubmissionResult } from '@pis/bank-rails';
import { instructionEnding } from '@pis/bank-rails/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { BankSimulator, UnreliableLine } from './bank-simulator.module.js';

let pool: pg.Pool;
let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 8);
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

/** Sends one transfer over a line on which the given mishap (0 to 6) happens, and waits until nothing is in flight. */
async function sendWith(mishap: number) {
  const terms = { submissionInFlightMaxMs: 2_000, referenceMemoryMs: 3_600_000 };
  const bank = new BankSimulator(pool, { delayMs: 0, terms });
  // It goes wrong, then the mishap is chosen, then when the rest arrives.
  const numbers = [0, (mishap + 0.5) / 7, 0.001];
  const line = new UnreliableLine(bank, { mishaps: 1, random: () => numbers.shift() ?? 0 });
  const answer = await line
    .submit(instructionEnding('4321'))
    .catch((error: unknown) => (error instanceof Error ? error.name : ''));
  await line.quiet();
  const { rows } = await pool.query<{ executions: number; submissions: number }>(
    'SELECT executions, submissions FROM bank_transfers',
  );
  return { answer, transfer: rows[0] ?? null };
}

describe('a bad line to the bank', () => {
  const accepted: SubmissionResult = { outcome: 'accepted' };
  const once = { executions: 1, submissions: 1 };
  it.each([
    ['loses the submission', 0, 'BankUnavailable', null],
    ['loses the answer', 1, 'BankUnavailable', once],
    ['garbles the answer', 2, 'BankAnswerUnclear', once],
    ['delivers late', 3, 'BankUnavailable', once],
    ['delivers twice', 4, accepted, { executions: 1, submissions: 2 }],
    ['refuses', 5, 'BankRefused', null],
    ['refuses and delivers later', 6, 'BankRefused', once],
  ])('%s', async (_what, mishap, answer, transfer) => {
    expect(await sendWith(mishap)).toEqual({ answer, transfer });
  });
});
