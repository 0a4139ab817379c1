/** The PostgreSQL event store when PostgreSQL fails. */
import {
  closeAfterEach,
  createTestDatabase,
  openTestPool,
  requireServer,
  until,
} from '@pis/local-servers/testing';
import pg from 'pg';
import { type EventStore, StoreUnavailable } from '../port.js';
import { eventToAppend, follow, testTimeoutMs, unique } from '../testing/conformance-kit.js';
import { type PostgresEventStoreOptions, postgresEventStore } from './postgres-event-store.js';
import * as statements from './statements.js';

const atEnd = closeAfterEach();

const timeoutMs = 20_000;
const nobodyListens = 'postgresql://postgres@127.0.0.1:1/none';

describe('the event store when PostgreSQL fails', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let operator: pg.Client;
  const pools: pg.Pool[] = [];
  const stores: EventStore[] = [];

  function open(options: Partial<PostgresEventStoreOptions> = {}, url = database.url): EventStore {
    const pool = openTestPool(url, 5, 'under-test');
    pools.push(pool);
    const store = postgresEventStore({ pool, ...options });
    stores.push(store);
    return store;
  }

  /** Holds the lock that every batch needs until it is released. */
  async function holdHead() {
    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM event_log_head FOR UPDATE');
    return () => holder.end();
  }

  const waitingBackends = async () => {
    const { rows } = await operator.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'under-test'
         AND wait_event_type = 'Lock'`,
    );
    return rows.map(({ pid }) => pid);
  };

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = new pg.Client({ connectionString: database.url });
    await operator.connect();
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await Promise.all(pools.map((pool) => pool.end()));
    await operator.end();
    await database.drop();
  });

  it(
    'reports a server that cannot be reached as StoreUnavailable, in every operation',
    async () => {
      const store = open({}, nobodyListens);
      const outcomes = await Promise.allSettled([
        store.append('payment-1', 'noStream', [eventToAppend()]),
        store.readStream('payment-1'),
        store.readStream('payment-1', { direction: 'backwards' }),
        store.readStreams(['payment-1', 'payment-2']),
        store.readLog({ after: '' }),
        store.lastPosition(),
        store.ping(),
      ]);
      for (const outcome of outcomes)
        expect(outcome).toMatchObject({ reason: { name: 'StoreUnavailable' } });
    },
    testTimeoutMs,
  );

  it(
    'reports a log that is being restored, and has no head yet, as StoreUnavailable',
    async () => {
      const restored = await createTestDatabase();
      atEnd(() => restored.drop());
      const pool = openTestPool(restored.url, 2);
      atEnd(() => pool.end());
      const store = postgresEventStore({ pool });
      atEnd(() => store.close());
      await pool.query('DELETE FROM event_log_head');
      const append = store.append('payment-1', 'noStream', [eventToAppend()]);
      await expect(append).rejects.toBeInstanceOf(StoreUnavailable);
    },
    testTimeoutMs,
  );

  it(
    'reports a missing schema as StoreUnavailable',
    async () => {
      // Not template1: a connection to it keeps others from creating a database.
      const empty = requireServer('PIS_TEST_POSTGRES_URL');
      await expect(open({}, empty).ping()).rejects.toBeInstanceOf(StoreUnavailable);
    },
    testTimeoutMs,
  );

  it(
    'repeats a batch whose connection was lost, and writes it once',
    async () => {
      const store = open();
      const streamId = `payment-${unique()}`;
      const release = await holdHead();
      const appending = store.append(streamId, 'noStream', [eventToAppend(), eventToAppend()]);
      const [pid] = await until(
        async () => {
          const pids = await waitingBackends();
          return pids.length > 0 && pids;
        },
        { timeoutMs },
      );
      await operator.query('SELECT pg_terminate_backend($1)', [pid]);
      await until(async () => (await waitingBackends()).some((waiting) => waiting !== pid), {
        timeoutMs,
      });
      await release();
      expect(await appending).toMatchObject({ revision: 1 });
      expect(await store.readStream(streamId)).toHaveLength(2);
    },
    testTimeoutMs,
  );

  it(
    'answers in time when PostgreSQL does not, and accepts the same IDs later',
    async () => {
      const store = open({ queryTimeoutMs: 300 });
      const streamId = `payment-${unique()}`;
      const events = [eventToAppend()];
      const release = await holdHead();
      const late = store.append(streamId, 'noStream', events);
      await expect(late).rejects.toBeInstanceOf(StoreUnavailable);
      await release();
      // The first try may have been written since. The next one does not need to know.
      const again = () => store.append(streamId, 'noStream', events);
      expect(await until(again, { timeoutMs })).toMatchObject({ revision: 0 });
      expect(await open().readStream(streamId)).toHaveLength(1);
    },
    testTimeoutMs,
  );

  it(
    'wakes subscribers of another process at once',
    async () => {
      const subscriber = open({ pollIntervalMs: 3_600_000 });
      const category = unique();
      const after = await subscriber.lastPosition();
      const follower = follow(subscriber, { after, streamPrefixes: [`${category}-`] });
      atEnd(() => follower.stop());
      await until(
        async () => {
          const { rowCount } = await operator.query(
            `SELECT FROM pg_stat_activity WHERE datname = current_database()
             AND application_name = 'pis-event-listener' AND query LIKE 'LISTEN%' AND state = 'idle'`,
          );
          return rowCount;
        },
        { timeoutMs },
      );
      const writer = open();
      for (let count = 1; count <= 3; count++) {
        await writer.append(`${category}-${count}`, 'noStream', [eventToAppend()]);
        await until(() => follower.events.length === count, { timeoutMs });
      }
    },
    testTimeoutMs,
  );

  it(
    'reports a connection that was lost while nobody read, once it is back',
    async () => {
      const hourMs = 3_600_000;
      const store = open({ pollIntervalMs: hourMs, pollWithoutListenIntervalMs: hourMs });
      const states: (string | null)[] = [];
      const after = await store.lastPosition();
      const onConnection = (failure: Error | null) => void states.push(failure?.name ?? null);
      const follower = follow(store, { after, onConnection });
      atEnd(() => follower.stop());
      const listeners = async () => {
        const { rows } = await operator.query<{ pid: number }>(
          `SELECT pid FROM pg_stat_activity WHERE datname = current_database()
             AND application_name = 'pis-event-listener' AND query LIKE 'LISTEN%' AND state = 'idle'`,
        );
        return rows.map(({ pid }) => pid);
      };
      const before = await listeners();
      const [lost] = await until(
        async () => {
          const own = (await listeners()).filter((pid) => !before.includes(pid));
          return own.length > 0 && states.length > 0 && own;
        },
        { timeoutMs },
      );
      await operator.query('SELECT pg_terminate_backend($1)', [lost]);
      await until(() => states.length === 3, { timeoutMs });
      expect(states).toEqual([null, 'StoreUnavailable', null]);
    },
    testTimeoutMs,
  );

  it(
    'polls while it cannot listen',
    async () => {
      const subscriber = open({ listenConnectionString: nobodyListens });
      const category = unique();
      const after = await subscriber.lastPosition();
      const follower = follow(subscriber, { after, streamPrefixes: [`${category}-`] });
      atEnd(() => follower.stop());
      await open().append(`${category}-1`, 'noStream', [eventToAppend()]);
      await until(() => follower.events.length === 1, { timeoutMs });
    },
    testTimeoutMs,
  );

  it(
    'closes while appends are under way: each is answered, none is lost',
    async () => {
      const store = open();
      const category = unique();
      const appends = Array.from({ length: 50 }, (_, index) =>
        store.append(`${category}-${index}`, 'noStream', [eventToAppend()]),
      );
      await store.close();
      expect(await Promise.all(appends)).toHaveLength(50);
      await expect(store.append(category, 'noStream', [eventToAppend()])).rejects.toBeInstanceOf(
        StoreUnavailable,
      );
    },
    testTimeoutMs,
  );

  it(
    'has assigned positions without a gap, whatever failed',
    async () => {
      const { rows } = await operator.query(
        `SELECT count(*) = max(position) AS contiguous, max(position) = max(h.at) AS at_head
       FROM events, (SELECT position AS at FROM event_log_head) h`,
      );
      expect(rows).toEqual([{ contiguous: true, at_head: true }]);
    },
    testTimeoutMs,
  );

  it(
    'looks events up by index, even with a plan made while the table was empty',
    async () => {
      const fresh = await createTestDatabase();
      atEnd(() => fresh.drop());
      const client = new pg.Client({ connectionString: fresh.url });
      atEnd(() => client.end());
      await client.connect();
      await client.query('SET plan_cache_mode = force_generic_plan');
      const parameters = new Map([
        [statements.readParts, `'{payment-1}', '{0}', '{1}'`],
        [statements.readBackwards, `'payment-1', 0, 1`],
        [statements.readLog, '0, 5000, 500'],
        [statements.readLogOfPrefixes, `0, 5000, 500, '{payment-}'`],
      ]);
      for (const [{ name, text }, values] of parameters) {
        await client.query(`PREPARE ${name} AS ${text}`);
        const { rows } = await client.query<Record<string, string>>(
          `EXPLAIN EXECUTE ${name} (${values})`,
        );
        const plan = rows.flatMap((row) => Object.values(row)).join('\n');
        expect(plan).toMatch(/Index Scan .*events_/);
        expect(plan).not.toMatch(/Seq Scan on events/);
      }
    },
    testTimeoutMs,
  );
});
