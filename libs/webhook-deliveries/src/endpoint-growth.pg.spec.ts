/** An organization that makes and deletes webhook endpoints without end costs no other organization more. */
import { randomUUID } from 'node:crypto';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { countDeliveries, type DeliveryRange, readDeliveries } from './delivery-pages.js';

const endpoints = 20_000;

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 2);
  await pool.query(
    `INSERT INTO webhook_endpoints (endpoint_id, organization_id, created_at, deleted_at, revision, item)
     SELECT gen_random_uuid(), $1, now(), now(), n, '{}' FROM generate_series(1, $2::int) AS n`,
    [randomUUID(), endpoints],
  );
  await pool.query('ANALYZE webhook_endpoints');
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

function endpointsRead(node: PlanNode): number {
  const own =
    node['Relation Name'] === 'webhook_endpoints'
      ? node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)
      : 0;
  return own + (node.Plans ?? []).reduce((sum, each) => sum + endpointsRead(each), 0);
}

/** A pool that counts how many endpoints its statements read. */
function counting(): { readonly pool: pg.Pool; read: number } {
  const counted = { pool, read: 0 };
  const query = async (text: string, values: unknown[]) => {
    const { rows } = await pool.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
      values,
    );
    for (const { Plan } of rows[0]?.['QUERY PLAN'] ?? []) counted.read += endpointsRead(Plan);
    return pool.query(text, values);
  };
  counted.pool = { query } as unknown as pg.Pool;
  return counted;
}

it.each([
  [
    'a page of deliveries',
    (on: pg.Pool, range: DeliveryRange) => readDeliveries(on, range, null, 10),
  ],
  ['the number of deliveries', countDeliveries],
])('%s reads no endpoint of another organization', async (_what, ask) => {
  const counted = counting();
  const until = new Date().toISOString();
  await ask(counted.pool, { organizationId: randomUUID(), from: undefined, until });
  expect(counted.read).toBe(0);
});
