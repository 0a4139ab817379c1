/** Transfers over SWIFT that came back in parts, against the bank's entries. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { railReferenceOf } from '@pis/bank-rails';
import { type BankEntry, writeCamt053 } from '@pis/bank-statements';
import { streamOf, totalsOf } from '@pis/bank-statements/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import type { Finding } from './findings.js';
import { reconcile } from './reconciliation.js';

const day = '2026-11-23';
const at = `${day}T18:00:00.000Z`;

let folder: string;
let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'pis-later-returns-'));
  database = await createTestDatabase();
  pool = openTestPool(database.url, 2);
});
afterEach(async () => {
  await pool.query('TRUNCATE transfers, movements');
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** A transfer of 12.34, and what came back of it, as our tables have it. The bank's entries. */
async function transferWith(...cents: readonly number[]) {
  const id = randomUUID();
  const reference = railReferenceOf(id);
  const [first = 0, ...later] = cents;
  await pool.query(
    `INSERT INTO transfers (transfer_id, organization_id, originator_id, owner, side, amount_minor, rail, reference,
       completed_at, completed_position, returned_at, returned_position, revision, returned_amount_minor, return_reference)
     VALUES ($1, $2, $2, 'payment', 'debit', 1234, 'SWIFT', $3, $4, '1', $4, '2', 1, $5, 'RTR1')`,
    [id, randomUUID(), reference, at, first],
  );
  const movements = [1_234, first, ...later];
  for (const [index, amountMinor] of movements.entries())
    await pool.query(
      `INSERT INTO movements (movement_id, organization_id, originator_id, payment_id, kind, side, amount_minor,
         rail, reference, at, position)
       SELECT gen_random_uuid(), organization_id, originator_id, transfer_id, $2, $3, $4, rail, $5, $6, $7
         FROM transfers WHERE transfer_id = $1`,
      [
        ...[id, ['transfer', 'return'][index] ?? 'later_return', index === 0 ? 'debit' : 'credit'],
        ...[amountMinor, index === 0 ? reference : `RTR${index}`, at, `${index + 1}`],
      ],
    );
  const [sent, ...returns] = movements.map(
    (amountMinor, index): BankEntry => ({
      ...{ bankReference: `B${index}`, reference, traceNumber: null, amountMinor },
      ...{ status: 'booked', bookedOn: day, rail: 'SWIFT', returnReasonCode: null },
      ...{ side: index === 0 ? 'debit' : 'credit', isReturn: index > 0 },
    }),
  );
  if (sent === undefined) throw new Error('no entry');
  return { id, sent, returns };
}

/** What does not match, with our amount. */
async function found(entries: readonly BankEntry[]) {
  const account = {
    ...{ accountId: '123', accountName: null, statementId: 'S1', from: day, to: day },
    ...{ openingMinor: 0n, ...(await totalsOf(streamOf(entries))), entries: streamOf(entries) },
  };
  const about = { fileId: 'F1', createdAt: new Date(at), sender: 'BANK', receiver: 'US' };
  const texts: string[] = [];
  for await (const text of writeCamt053(about, streamOf([account]))) texts.push(text);
  const file = path.join(folder, `${randomUUID()}.xml`);
  writeFileSync(file, texts.join(''));
  const findings: Finding[] = [];
  await reconcile(
    pool,
    {
      ...{ files: [file], organizationId: null, from: null, to: null, daysMax: 3 },
      timeZone: 'America/New_York',
    },
    {
      finding: (one) => Promise.resolve(void findings.push(one)),
      contradiction: (one) => Promise.reject(new Error(JSON.stringify(one))),
    },
  );
  return findings
    .filter(({ kind }) => kind !== 'matched')
    .map(({ kind, movement, differs, ours }) => [kind, movement, differs, ours?.amount]);
}

it('each return is compared with its own amount, whatever the order of the entries', async () => {
  const { sent, returns } = await transferWith(1_200, 20, 10);
  expect(await found([sent, ...returns])).toEqual([]);
  expect(await found([sent, ...returns.toReversed()])).toEqual([]);
  // The bank does not mark them.
  const unmarked = returns.map((entry) => ({ ...entry, isReturn: false }));
  expect(await found([sent, ...unmarked])).toEqual([]);
});

it('each return that the bank has not booked is missing with its own amount', async () => {
  const { sent, returns } = await transferWith(1_200, 20, 10);
  const missing = (cents: number) => ['missingAtBank', 'return', [], cents];
  expect(await found([sent])).toEqual([missing(1_200), missing(20), missing(10)]);
  for (const [index, cents] of [1_200, 20, 10].entries())
    expect(await found([sent, ...returns.toSpliced(index, 1)])).toEqual([missing(cents)]);
});

it('a return that the bank has twice is a duplicate', async () => {
  const { sent, returns } = await transferWith(1_200, 20, 10);
  expect(await found([sent, ...returns, ...returns.slice(1, 2)])).toEqual([
    ['duplicates', 'return', [], 20],
  ]);
});

it('returns of the same amount are two', async () => {
  const { sent, returns } = await transferWith(20, 20);
  expect(await found([sent, ...returns])).toEqual([]);
  expect(await found([sent, ...returns.slice(1)])).toEqual([['missingAtBank', 'return', [], 20]]);
});

it('a return of another amount is the one of its reference, or else the one that is left', async () => {
  const { sent, returns } = await transferWith(1_200, 20, 10);
  const [first, second, third] = returns;
  if (!first || !second || !third) throw new Error('three returns');
  const differing = [['differing', 'return', ['amount'], 20]];
  expect(await found([sent, first, { ...second, amountMinor: 19 }, third])).toEqual(differing);
  const named = { ...second, bankReference: 'RTR2', amountMinor: 10 };
  expect(await found([sent, first, third, named])).toEqual(differing);
});
