/**
 * A round of the collector reads what is left to do, not what was done in the years before. At 100,000 originators and
 * 24 months, the query once took seconds for each page of 100.
 */
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { countFeePeriods, openFeePeriods } from './fees.js';

const originators = 1_000;
const months = 24;
/** Of the last month. */
const open = 30;
const now = new Date('2026-11-03T12:00:00.000Z');
/** The rows that one call may read: each open one several times, and pages of the indexes. */
const readMax = 20 * open;

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  // One connection, so that the statistics of its reads are complete.
  pool = openTestPool(database.url, 1);
  await pool.query(
    `INSERT INTO fee_periods (fee_period_id, organization_id, originator_id, year, month, discount_fee_minor,
       flat_fee_minor, return_fee_minor, status, collection_id, closed_at, revision)
     SELECT gen_random_uuid(), md5('organization ' || o % 100)::uuid, md5('originator ' || o)::uuid, 2024 + m / 12,
       1 + m % 12, 1, 1, 1, CASE WHEN m < $2::int - 1 OR o > $3 THEN 'COLLECTED'
         ELSE (ARRAY['DUE', 'COLLECTING', 'GIVEN_UP'])[1 + o % 3] END,
       md5('collection ' || o || ' ' || m)::uuid, now(), 2
     FROM generate_series(1, $1::int) o, generate_series(0, $2::int - 1) m`,
    [originators, months, open],
  );
  await pool.query(
    `INSERT INTO fee_collections (collection_id, organization_id, originator_id, amount_minor, status, created_at, revision)
     SELECT collection_id, organization_id, originator_id, 3,
       CASE status WHEN 'COLLECTED' THEN 'COMPLETED' WHEN 'COLLECTING' THEN 'PROCESSING' ELSE 'FAILED' END, now(), 2
     FROM fee_periods WHERE status <> 'DUE'`,
  );
  await pool.query('ANALYZE fee_periods, fee_collections');
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

/** How many entries of indexes and rows of the tables were read so far. */
async function read(): Promise<number> {
  await pool.query('SELECT pg_stat_force_next_flush()');
  const { rows } = await pool.query<{ read: number }>(
    `SELECT sum(seq_tup_read + coalesce(idx_tup_read, 0))::int AS read
       FROM (SELECT seq_tup_read, (SELECT sum(i.idx_tup_read) FROM pg_stat_user_indexes i
           WHERE i.relid = t.relid) AS idx_tup_read
         FROM pg_stat_user_tables t WHERE relname IN ('fee_periods', 'fee_collections')) tables`,
  );
  return rows[0]?.read ?? 0;
}

async function readBy(call: () => Promise<unknown>): Promise<number> {
  const before = await read();
  await call();
  return (await read()) - before;
}

const page = { after: null, limit: 100, canStart: true };

it('a page of what is left to do reads no period that is done', async () => {
  // A plan for all values is made after five plans for the values given.
  for (let plans = 0; plans < 7; plans += 1)
    expect(await readBy(() => openFeePeriods(pool, now, page))).toBeLessThan(readMax);
  expect(await openFeePeriods(pool, now, page)).toHaveLength(open / 3);
});

it('a scrape of the metrics reads no period that is done', async () => {
  expect(await readBy(() => countFeePeriods(pool, now))).toBeLessThan(readMax);
});

it('periods of an originator are found when a collection in flight was settled beside them', async () => {
  const { rows } = await pool.query<{ originatorId: string }>(
    `UPDATE fee_collections SET collection_id = gen_random_uuid(), was_in_flight = true
      WHERE collection_id = md5('collection 500 3')::uuid RETURNING originator_id AS "originatorId"`,
  );
  const found: readonly string[] = await openFeePeriods(pool, now, page);
  const { rows: periods } = await pool.query<{ id: string }>(
    'SELECT fee_period_id AS id FROM fee_periods WHERE originator_id = $1',
    [rows[0]?.originatorId],
  );
  expect(periods).toHaveLength(months);
  expect(found).toEqual(expect.arrayContaining(periods.map(({ id }) => id)));
  expect(await readBy(() => openFeePeriods(pool, now, page))).toBeLessThan(readMax);
});

it('no page ends early because two collections of an originator were settled beside its periods', async () => {
  await pool.query(
    `UPDATE fee_collections SET collection_id = gen_random_uuid(), was_in_flight = true
      WHERE collection_id = ANY (ARRAY[md5('collection 600 3')::uuid, md5('collection 600 4')::uuid])`,
  );
  const found: string[] = [];
  for (let after: string | null = null; ; ) {
    const limit = 10;
    const ids = await openFeePeriods(pool, now, { after, limit, canStart: false });
    found.push(...ids);
    if (ids.length < limit) break;
    after = ids.at(-1) ?? null;
  }
  const { rows } = await pool.query<{ id: string }>(
    `SELECT fee_period_id AS id FROM fee_periods WHERE originator_id = md5('originator 600')::uuid`,
  );
  expect(rows).toHaveLength(months);
  expect(found).toEqual(expect.arrayContaining(rows.map(({ id }) => id)));
  expect(found).toHaveLength(new Set(found).size);
});
