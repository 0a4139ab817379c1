/**
 * A plan that was made while the table was empty is kept for as long as its connection lives. One that was made while
 * nothing was under way is kept until a tenth of the table has changed: the bank's file of a morning is less.
 */
import { createTestDatabase, openTestPool, expectFewRowsRead } from '@pis/local-servers/testing';
import type { TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { wantSql } from './ach-inquiries.js';
import { readReports } from './ach-feed.js';
import { entriesByTrace } from './ach-known.js';
import { usedSql } from './ach-prenotes.js';
import { dueTimes, queuedEntries } from './ach-queue.js';

const bank = 'test-ach';
const settledRows = 40_000;
const rowsMax = 2_000;

let database: TestDatabase;
let pool: pg.Pool;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 1);
  await pool.query(
    `INSERT INTO ach_feed (bank, sequence, reference, type, at) VALUES ($1, 1, 'filed 1', 'confirmed', now())`,
    [bank],
  );
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

/** Their references and trace numbers are `<status> 1` and so on. */
const addEntries = (status: string, count: number) =>
  pool.query(
    `INSERT INTO ach_entries (reference, bank, status, trace_number, file_id, submitted_at)
     SELECT $2 || ' ' || n, $1, $2, $2 || ' ' || n, (SELECT max(id) FROM ach_files), now()
       FROM generate_series(1, $3::int) n`,
    [bank, status, count],
  );

async function addFiled(): Promise<void> {
  await pool.query(
    `INSERT INTO ach_files (bank, name, archive_id, sha256, entries, status, created_at, upload_due_at, settles_on)
     VALUES ($1, 'a', 'a', 'a', $2, 'uploaded', now(), now(), now())`,
    [bank, rowsMax],
  );
  await addEntries('filed', rowsMax);
}

async function addSettled(): Promise<void> {
  await addEntries('accepted', settledRows);
  await pool.query('VACUUM (ANALYZE) ach_entries');
}

const calls: Readonly<Record<string, () => Promise<unknown>>> = {
  'by their trace numbers': () => entriesByTrace(pool, bank, ['filed 1']),
  'that may still be in a queue': () => queuedEntries(pool, bank, ['filed 1'], new Date(0)),
  'that the feed reports on': () => readReports(pool, bank, { after: '', max: 10 }),
  'whose file is due': () => dueTimes(pool, bank, ['filed 1']),
  'to be asked about': () =>
    pool.query({ name: 'want', text: wantSql, values: ['filed 1', bank, 0] }),
};

it.each(Object.entries(calls))('finds entries %s by a plan of the empty table', async (_, call) => {
  await expectFewRowsRead(pool, 'ach_entries', { call, fill: addFiled });
});

it.each(Object.entries(calls))('finds entries %s by a plan of settled ones', async (_, call) => {
  await addSettled();
  await expectFewRowsRead(pool, 'ach_entries', { call, fill: addFiled });
});

it('finds the prenote of an account by a plan from a time when none was open', async () => {
  const addPrenotes = (state: string, count: number) =>
    pool.query(
      `INSERT INTO ach_prenotes (reference, bank, account, state, created_at)
       SELECT $2 || ' ' || n, $1, n, $2, now() FROM generate_series(1, $3::int) n`,
      [bank, state, count],
    );
  await addPrenotes('dropped', settledRows);
  await pool.query('VACUUM (ANALYZE) ach_prenotes');
  const call = () => pool.query({ name: 'used', text: usedSql, values: ['open 1', 'payment'] });
  const fill = () => addPrenotes('open', rowsMax);
  await expectFewRowsRead(pool, 'ach_prenotes', { call, fill });
});
