import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { sandboxDirectory } from '@pis/bank-rails';
import { type EventStore, memoryEventStore } from '@pis/event-store';
import { testKeyring } from '@pis/keyring/testing';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { createLogger } from '@pis/service-kit';
import type pg from 'pg';
import { FeeWorker } from './fee-worker.js';

const dayMs = 86_400_000;
const allButDate = [
  ...(['nextTick', 'queueMicrotask', 'performance', 'hrtime'] as const),
  ...(['setImmediate', 'clearImmediate', 'setInterval', 'clearInterval'] as const),
  ...(['setTimeout', 'clearTimeout'] as const),
];

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 5);
  store = memoryEventStore();
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

/** In the lists alone: the log has no event yet, and they lack none. */
async function addOriginator(createdAt: string): Promise<void> {
  const [organizationId, originatorId] = [randomUUID(), randomUUID()];
  await pool.query(
    `INSERT INTO organizations (organization_id, name, created_at, time_zone, revision)
      VALUES ($1, 'Acme', $2, 'America/New_York', 0)`,
    [organizationId, createdAt],
  );
  await pool.query(
    `INSERT INTO originators (originator_id, organization_id, created_at, item, revision)
      VALUES ($1, $2, $3, '{}', 0)`,
    [originatorId, organizationId, createdAt],
  );
}

it('closes no month that has not ended by the clock of PostgreSQL, while the process is years ahead', async () => {
  const nowMs = Date.now();
  await addOriginator(new Date(nowMs - 70 * dayMs).toISOString());
  jest.useFakeTimers({ now: nowMs + 4_000 * dayMs, doNotFake: allButDate });
  const worker = new FeeWorker({
    ...{ store, sources: { pool, store }, keyring: testKeyring(), banks: sandboxDirectory },
    ...{ environment: 'production', logger: createLogger('fee-collector', 'silent') },
  });
  try {
    worker.start();
    const isDone = async () => (await pool.query('SELECT FROM fee_months')).rowCount !== 0;
    await until(isDone, { timeoutMs: 60_000 });
  } finally {
    await worker.stop();
    jest.useRealTimers();
  }
  const { events } = await store.readLog({ after: '', pageMax: 1_000 });
  const ends = events
    .filter(({ type }) => type === 'FeePeriodClosed')
    .map(({ data }) => Date.parse((data as { to: string }).to));
  expect(ends.length).toBeGreaterThan(0);
  expect(ends.filter((endMs) => endMs > Date.now())).toEqual([]);
});
