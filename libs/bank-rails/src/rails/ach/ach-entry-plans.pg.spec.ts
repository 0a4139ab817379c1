/** A plan that was made while the table was empty is kept for as long as its connection lives. */
import { randomUUID } from 'node:crypto';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { entriesByTrace } from './ach-known.js';
import { queuedEntries } from './ach-queue.js';

const bank = 'test-ach';
/** After five plans for its values a prepared statement may keep one for all values. */
const plansMax = 6;
const rowsMax = 2_000;

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 1);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

/** How many entries of indexes and rows of the table were read so far. */
async function read(): Promise<number> {
  await pool.query('SELECT pg_stat_force_next_flush()');
  const { rows } = await pool.query<{ read: number }>(
    `SELECT (sum(i.idx_tup_read) + max(t.seq_tup_read))::int AS read
       FROM pg_stat_user_indexes i JOIN pg_stat_user_tables t USING (relid)
      WHERE i.relname = 'ach_entries'`,
  );
  return rows[0]?.read ?? 0;
}

interface Entry {
  readonly reference: string;
  readonly trace: string;
}

const entry = (): Entry => ({ reference: randomUUID(), trace: randomUUID() });

async function lookUp({ reference, trace }: Entry): Promise<void> {
  await entriesByTrace(pool, bank, [trace]);
  await queuedEntries(pool, bank, [reference], new Date(0));
}

it('reads as many entries as it asks for, also by a plan from the time before there were any', async () => {
  for (let plans = 0; plans < plansMax; plans += 1) await lookUp(entry());

  const many = Array.from({ length: rowsMax }, entry);
  await pool.query(
    `INSERT INTO ach_entries (reference, bank, status, trace_number, submitted_at)
     SELECT e.reference, $1, 'accepted', e.trace, now()
       FROM unnest($2::text[], $3::text[]) AS e (reference, trace)`,
    [bank, many.map(({ reference }) => reference), many.map(({ trace }) => trace)],
  );
  const before = await read();
  for (const one of many.slice(0, plansMax)) await lookUp(one);
  expect((await read()) - before).toBeLessThan(plansMax * 30);
});
