/** How old the collections are that fee periods wait for. */
import { randomUUID } from 'node:crypto';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { collectingSeconds } from './fee-period-list.js';

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 2);
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

it('counts a collection without a stream as queued since the month was closed', async () => {
  const now = new Date('2026-12-08T00:00:00.000Z');
  expect(await collectingSeconds(pool, now)).toEqual({ queued: 0, sent: 0 });
  await pool.query(
    `INSERT INTO fee_periods (fee_period_id, organization_id, originator_id, year, month,
        discount_fee_minor, flat_fee_minor, return_fee_minor, status, collection_id, closed_at, revision)
      VALUES ($1, $1, $1, 2026, 11, 1, 0, 0, 'COLLECTING', $1, '2026-12-01', 0)`,
    [randomUUID()],
  );
  expect(await collectingSeconds(pool, now)).toEqual({ queued: 7 * 86_400, sent: 0 });
});
