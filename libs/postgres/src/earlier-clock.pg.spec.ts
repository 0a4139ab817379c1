import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { earlierClock } from './earlier-clock.js';

const yearMs = 365 * 86_400_000;

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

const databaseNowMs = async () => {
  const { rows } = await pool.query<{ now: Date }>('SELECT now() AS now');
  return rows[0]?.now.getTime() ?? NaN;
};

it('is that of PostgreSQL while the process is ahead, also when it jumps ahead later', async () => {
  let aheadMs = 0;
  const clock = await earlierClock(pool, () => new Date(Date.now() + aheadMs));
  for (aheadMs of [yearMs, 10 * yearMs]) {
    const beforeMs = clock().getTime();
    expect(Math.abs(beforeMs - (await databaseNowMs()))).toBeLessThan(60_000);
    expect(clock().getTime()).toBeGreaterThanOrEqual(beforeMs);
  }
});

it('is that of the process while PostgreSQL is ahead', async () => {
  const past = new Date('2001-02-03T04:05:06.789Z');
  expect((await earlierClock(pool, () => past))()).toEqual(past);
});
