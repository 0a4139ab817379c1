/** Requests of replays that come at the same time. */
import { randomUUID } from 'node:crypto';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { replayRequests, runningReplaysMax } from './replay-requests.js';

const gateways = runningReplaysMax + 3;
const waitLimitMs = 20_000;

let database: TestDatabase;
let pool: pg.Pool;
let holder: pg.Pool;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, gateways);
  holder = openTestPool(database.url, 1);
});
afterEach(async () => {
  await pool?.end();
  await holder?.end();
  await database?.drop();
});

it('do not begin more replays of an endpoint than may run', async () => {
  // Each row waits for the lock of the test, after its statement has counted the rows that are there.
  await pool.query(`
    CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NEW; END $$;
    CREATE TRIGGER wait_for_test BEFORE INSERT ON webhook_replays
      FOR EACH ROW EXECUTE FUNCTION wait_for_test()`);
  await holder.query('SELECT pg_advisory_lock(1)');
  const at = new Date('2026-11-21T10:00:00.000Z');
  const [organizationId, endpointId] = [randomUUID(), randomUUID()];
  const { create } = replayRequests(pool);
  const creating = Array.from({ length: gateways }, () =>
    create({
      ...{ id: randomUUID(), organizationId, endpointId, eventTypes: null, throughPosition: '1' },
      ...{ fromAt: at, toAt: at, requestedAt: at },
    }),
  );
  const areAllWaiting = async () => {
    const { rowCount } = await holder.query(
      `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    return rowCount === gateways;
  };
  await until(areAllWaiting, { timeoutMs: waitLimitMs });
  await holder.query('SELECT pg_advisory_unlock(1)');
  const created = await Promise.all(creating);
  expect(created.filter((replay) => replay !== null)).toHaveLength(runningReplaysMax);
});
