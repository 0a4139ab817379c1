/** Every process keeps an empty partition of the log ready, and reports while it cannot. */
import { withSmallPartitions } from '@pis/event-store/testing';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { Registry } from 'prom-client';
import { LogPartitions, type LogPartitionsOptions } from './log-partitions.js';
import { createLogger } from './logging.js';

const timeoutMs = 60_000;
const limits = { everyMs: 20, againMs: 20, freshForMs: 0 };
let database: TestDatabase;
let pool: pg.Pool;

beforeEach(async () => {
  database = await createTestDatabase();
  await withSmallPartitions(database.url, 10);
  pool = openTestPool(database.url, 5);
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

function partitions(options: Partial<LogPartitionsOptions> = {}) {
  const lines: string[] = [];
  const logger = createLogger('test', 'warn', { write: (line) => lines.push(line) });
  const metrics = new Registry();
  const made = new LogPartitions({ pool, logger, metrics, isUsed: true, limits, ...options });
  return { made, lines, metrics };
}

it(
  'tries again until nobody locks the log, and says so meanwhile',
  async () => {
    const locking = await pool.connect();
    await locking.query('BEGIN; LOCK TABLE events IN SHARE UPDATE EXCLUSIVE MODE');
    const { made, lines, metrics } = partitions();
    made.start();
    await until(() => lines.length > 0, { timeoutMs });
    expect(lines[0]).toContain('the next partition of the log was not prepared');
    expect(lines[0]).toContain('lock timeout');
    expect(await metrics.metrics()).toMatch(/^pis_log_empty_partitions 0$/m);
    await locking.query('COMMIT');
    locking.release();
    await until(async () => /^pis_log_empty_partitions 1$/m.test(await metrics.metrics()), {
      timeoutMs,
    });
    // The next one when this one is in use.
    await pool.query('UPDATE event_log_head SET position = 11');
    const count = async () => (await pool.query('SELECT FROM event_partitions')).rowCount;
    await until(async () => (await count()) === 3, { timeoutMs });
    await made.stop();
  },
  2 * timeoutMs,
);

it('makes and reports nothing while the log is in EventStoreDB', async () => {
  const { made, metrics } = partitions({ isUsed: false });
  made.start();
  await made.stop();
  expect(await metrics.metrics()).not.toContain('pis_log');
  expect((await pool.query('SELECT FROM event_partitions')).rowCount).toBe(1);
});
