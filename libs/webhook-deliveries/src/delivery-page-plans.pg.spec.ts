import { randomUUID } from 'node:crypto';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { readDeliveries } from './delivery-pages.js';

const smallOrganizations = 20_000;
const paymentsOfLarge = 5_000;
const deliveries = 5;
/** After five plans for its values a prepared statement may keep one for all values. */
const plansMax = 6;
/** An index lookup takes three. */
const blocksOfPaymentMax = 10;

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

const addPayments = (organizationId: string | null, count: number) =>
  pool.query(
    `INSERT INTO payments (payment_id, organization_id, originator_id, status, direction, payment_rail,
       created_at, revision, item)
     SELECT gen_random_uuid(), coalesce($1::uuid, gen_random_uuid()), gen_random_uuid(), '', '', '', now(), 0, '{}'
       FROM generate_series(1, $2::int)`,
    [organizationId, count],
  );

async function blocksRead(): Promise<number> {
  await pool.query('SELECT pg_stat_force_next_flush()');
  const { rows } = await pool.query<{ readonly blocks: number }>(
    `SELECT (heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit)::float8 AS blocks
       FROM pg_statio_user_tables WHERE relname = 'payments'`,
  );
  return rows[0]?.blocks ?? 0;
}

it('a page of deliveries looks up its payments, also those of a large organization among small ones', async () => {
  const organizationId = randomUUID();
  const endpointId = randomUUID();
  await addPayments(null, smallOrganizations);
  await addPayments(organizationId, paymentsOfLarge);
  await pool.query(
    `INSERT INTO webhook_deliveries (id, organization_id, endpoint_id, event_id, event_type, payment_id,
       occurred_at, created_at, next_attempt_at, window_ends_at)
     SELECT gen_random_uuid(), $1, $2, gen_random_uuid(), '', payment_id, now(), now(), now(), now()
       FROM payments WHERE organization_id = $1 LIMIT $3`,
    [organizationId, endpointId, deliveries],
  );
  await pool.query('VACUUM (ANALYZE) payments');
  const range = { organizationId, from: undefined, until: new Date().toISOString() };
  const place = { endpointId, createdAt: null, id: null };
  const read = async () => (await readDeliveries(pool, range, place, 100)).items;

  for (let plans = 0; plans < plansMax; plans += 1) await read();
  const before = await blocksRead();
  const items = await read();
  expect((await blocksRead()) - before).toBeLessThan(deliveries * blocksOfPaymentMax);
  expect(items.map(({ originatorId }) => originatorId)).toEqual(
    Array(deliveries).fill(expect.any(String)),
  );
});
