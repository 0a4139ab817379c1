/**
 * The cost of a page, counted by PostgreSQL in rows and index entries read. Unlike a time, it is the same
 * on every machine. The rows are the worst case for a filter: all have one contact and one label, and most
 * combinations of status, direction and rail have no row.
 */
import type { PaymentFilter } from '@pis/contracts';
import { randomUUID } from 'node:crypto';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { paymentsQuery } from './payments-query.js';

const organizationId = randomUUID();
const originatorId = randomUUID();
const contactId = randomUUID();
const rows = 20_000;
const limit = 20;
/** PostgreSQL plans a prepared statement anew for the first five. */
const executions = 7;
/** Two classes of payments, each with one page plus one row, and then the page itself. */
const readMax = 3 * (limit + 1);

let database: TestDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  // One connection, so that it counts its own reads.
  pool = openTestPool(database.url, 1);
  await pool.query(
    `INSERT INTO payments (payment_id, organization_id, originator_id, contact_id, status, direction,
       payment_rail, external_payment_id, created_at, revision, item)
     SELECT gen_random_uuid(), $1, $2::text::uuid, $3, status, direction, rail, 'payroll',
       '2026-11-21T09:00:00Z'::timestamptz - n * interval '1 minute', 2,
       json_build_object('originator', json_build_object('id', $2::text))
     FROM generate_series(1, $4::int) n, LATERAL (VALUES
       (0, 'COMPLETED', 'OUTBOUND', 'ACH'), (1, 'RETURNED', 'INBOUND', 'RTP')
     ) AS class (remainder, status, direction, rail)
     WHERE n % 2 = remainder`,
    [organizationId, originatorId, contactId, rows],
  );
  await pool.query('VACUUM ANALYZE payments');
});

afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

/** Reads of the table and its indexes, by all connections so far. */
async function readSoFar(): Promise<number> {
  await pool.query('SELECT pg_stat_force_next_flush()');
  const { rows: counted } = await pool.query<{ entries: number }>(
    `SELECT (seq_tup_read + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes
       WHERE relname = 'payments'))::int AS entries
     FROM pg_stat_user_tables WHERE relname = 'payments'`,
  );
  return counted[0]?.entries ?? NaN;
}

const choices: readonly (readonly PaymentFilter[])[] = [
  [{}, { status: 'COMPLETED' }, { status: 'BLOCKED' }],
  [{}, { direction: 'INBOUND' }],
  [{}, { paymentRail: 'RTP' }, { paymentRail: 'SWIFT' }],
  [{}, { originatorId }, { originatorId: randomUUID() }],
  [{}, { contactId }, { contactId: randomUUID() }],
  [{}, { externalPaymentId: 'payroll' }, { externalPaymentId: 'none' }],
  [{}, { createdFrom: '2026-11-15T00:00:00.000Z', createdTo: '2026-11-16T00:00:00.000Z' }],
];
const combinations = choices.reduce<readonly PaymentFilter[]>(
  (some, next) => some.flatMap((filter) => next.map((choice) => ({ ...filter, ...choice }))),
  [{}],
);

/** The exception described in payments-query.ts. */
const isLabelOfParty = ({ externalPaymentId, ...filter }: PaymentFilter) =>
  externalPaymentId !== undefined &&
  (filter.originatorId !== undefined || filter.contactId !== undefined);

const pageAfter = (createdAt: string) => ({ limit, after: { createdAt, id: randomUUID() } });
const pages = [
  ['first one', { limit }],
  ['later one', pageAfter('2026-11-15T12:00:00.000Z')],
  ['one after a payment that the dates exclude', pageAfter('2026-11-20T12:00:00.000Z')],
] as const;

describe('a page of payments', () => {
  it.each(pages)('is read without the rest of the table: the %s', async (_, page) => {
    const query = paymentsQuery(pool);
    const filters = combinations.filter((filter) => !isLabelOfParty(filter));
    expect(filters.length).toBeGreaterThan(300);
    const tooMuch: unknown[] = [];
    let before = await readSoFar();
    for (const filter of filters) {
      for (let n = 0; n < executions; n += 1) await query.list(organizationId, filter, page);
      const after = await readSoFar();
      const read = (after - before) / executions;
      if (!(read <= readMax)) tooMuch.push({ filter, read });
      before = after;
    }
    expect(tooMuch).toEqual([]);
  });
});
