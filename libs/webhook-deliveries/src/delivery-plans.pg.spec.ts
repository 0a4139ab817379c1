import {
  createTestDatabase,
  genericPlanOf,
  openTestPool,
  type TestDatabase,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { type StatementName, statements } from './delivery-statements.js';

let database: TestDatabase;
let pool: pg.Pool;
let client: pg.PoolClient;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 1);
  client = await pool.connect();
});
afterAll(async () => {
  client.release();
  await pool.end();
  await database.drop();
});

/** A session keeps the plan that it made when the queue was empty, also while a backlog grows. */
describe.each([
  ['new', []],
  ['vacuumed', ['VACUUM (ANALYZE) webhook_deliveries']],
])('an empty queue that is %s', (_, before) => {
  beforeAll(async () => {
    for (const statement of before) await client.query(statement);
  });

  it.each(Object.keys(statements) as StatementName[])('is not scanned by %s', async (name) => {
    const plan = await genericPlanOf(client, statements[name]);
    expect(plan).toContain('webhook_deliveries');
    expect(plan).not.toMatch(/Seq Scan on webhook_deliveries/);
  });
});
