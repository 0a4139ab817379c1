import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { clockDifferenceMs } from './clock-difference.js';

const hourMs = 3_600_000;
/** Of one machine with itself, and for its answers. */
const toleranceMs = 60_000;

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

const withClock = (differMs: number) => clockDifferenceMs(pool, () => Date.now() + differMs);

it('is positive for a clock that is ahead of that of PostgreSQL, and negative for one that is behind', async () => {
  expect(Math.abs((await withClock(hourMs)) - hourMs)).toBeLessThan(toleranceMs);
  expect(Math.abs((await withClock(-hourMs)) + hourMs)).toBeLessThan(toleranceMs);
});

it('does not count the time until PostgreSQL answers', async () => {
  // It reads its clock at the end of the wait in one case, and at the beginning in the other.
  for (const [beforeMs, afterMs] of [
    [300, 0],
    [0, 300],
  ] as const) {
    const slow = {
      query: async (config: unknown) => {
        await pool.query('SELECT pg_sleep($1)', [beforeMs / 1_000]);
        const answer = await pool.query(config as pg.QueryConfig);
        await pool.query('SELECT pg_sleep($1)', [afterMs / 1_000]);
        return answer;
      },
    } as unknown as pg.Pool;
    expect(Math.abs(await clockDifferenceMs(slow))).toBeLessThan(20);
  }
});
