import {
  createTestDatabase,
  genericPlanOf,
  openTestPool,
  type TestDatabase,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { endSql, leaseSql, nextSql, noteSql, sealSql, takenSql } from './pending-statements.js';

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

const statements = {
  note: noteSql,
  seal: sealSql,
  taken: takenSql,
  end: endSql,
  'lease of due ones': leaseSql('deadline_at'),
  'lease of overdue ones': leaseSql('overdue_at'),
  next: nextSql('deadline_at'),
};

/** A session keeps the plan that it made when nothing was pending, also while thousands are. */
describe.each([
  ['new', []],
  ['vacuumed', ['VACUUM (ANALYZE) rail_pending']],
])('an empty rail_pending that is %s', (_, before) => {
  beforeAll(async () => {
    for (const statement of before) await client.query(statement);
  });

  it.each(Object.entries(statements))('is not scanned by %s', async (_name, text) => {
    const plan = await genericPlanOf(client, text);
    expect(plan).toContain('rail_pending');
    expect(plan).not.toMatch(/Seq Scan on rail_pending/);
  });
});
