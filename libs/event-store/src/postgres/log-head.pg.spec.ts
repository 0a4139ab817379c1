/** The cost of idle subscriptions, and what they find without notifications. */
import {
  closeAfterEach,
  createTestDatabase,
  openTestPool,
  until,
} from '@pis/local-servers/testing';
import { Listener } from '@pis/postgres';
import type pg from 'pg';
import type { EventStore } from '../port.js';
import { eventToAppend, follow, testTimeoutMs, unique } from '../testing/conformance-kit.js';
import {
  eventsChannel,
  type PostgresEventStoreOptions,
  postgresEventStore,
} from './postgres-event-store.js';
import * as statements from './statements.js';

const timeoutMs = 20_000;

describe('subscriptions to the log in PostgreSQL', () => {
  const atEnd = closeAfterEach();

  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let pool: pg.Pool;
  let store: EventStore;

  beforeEach(async () => {
    database = await createTestDatabase();
    pool = openTestPool(database.url, 5);
  });
  afterEach(async () => {
    await store.close();
    await pool.end();
    await database.drop();
  });

  const listenerOn = (connectionString: string) =>
    new Listener({
      ...{ channels: [eventsChannel], connection: { connectionString }, senders: pool },
      ...{ retryInitialMs: 5, retryMaxMs: 50, connectTimeoutMs: 10_000, checkEveryMs: 3_600_000 },
    });

  /** Counts the statements that the store sends, by name. */
  function open(options: Partial<PostgresEventStoreOptions>): ReadonlyMap<string, number> {
    const sent = new Map<string, number>();
    const counting = new Proxy(pool, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          if (property === 'query') {
            const { name } = args[0] as { name: string };
            sent.set(name, (sent.get(name) ?? 0) + 1);
          }
          return Reflect.apply(value, target, args);
        };
      },
    });
    store = postgresEventStore({ pool: counting, ...options });
    return sent;
  }

  it(
    'cost one query of the head of the log per interval while idle, however many there are',
    async () => {
      const sent = open({ pollIntervalMs: 20, pollWithoutListenIntervalMs: 20 });
      const followers = Array.from({ length: 10 }, () =>
        follow(store, { after: '', streamPrefixes: ['payment-'] }),
      );
      const looks = () => sent.get(statements.readHead.name) ?? 0;
      const others = () => [...sent.values()].reduce((sum, count) => sum + count, 0) - looks();
      const looked = (count: number) => until(() => looks() >= count, { timeoutMs });
      // The first query, and the listener whenever it is connected, wake every subscription. Afterwards only the head is read.
      await until(
        async () => {
          const before = others();
          await looked(looks() + 20);
          return others() === before;
        },
        { timeoutMs },
      );
      await Promise.all(followers.map((follower) => follower.stop()));
    },
    testTimeoutMs,
  );

  it(
    'do not query the head of the log while notifications are proven to arrive',
    async () => {
      const listener = listenerOn(database.url);
      atEnd(() => listener.stop());
      const seldom = { pollProvenIntervalMs: 3_600_000 };
      const often = { pollIntervalMs: 1, pollWithoutListenIntervalMs: 1 };
      const sent = open({ listener, ...seldom, ...often });
      const looks = () => sent.get(statements.readHead.name) ?? 0;
      const follower = follow(store, { after: '' });
      atEnd(() => follower.stop());
      const elsewhere = postgresEventStore({ pool });
      atEnd(() => elsewhere.close());
      const seen = async () => {
        const count = follower.events.length + 1;
        await elsewhere.append(`payment-${unique()}`, 'noStream', [eventToAppend()]);
        await until(() => follower.events.length === count, { timeoutMs });
      };
      await until(() => listener.isProven, { timeoutMs });
      // The last poll that was due before.
      await until(
        async () => {
          const before = looks();
          await seen();
          return looks() === before;
        },
        { timeoutMs },
      );
      const before = looks();
      for (let count = 1; count <= 20; count += 1) await seen();
      expect(looks()).toBe(before);
      // As after a statement that has failed.
      listener.doubt();
      await until(() => looks() > before + 10, { timeoutMs });
    },
    testTimeoutMs,
  );

  it.each([
    ['is lost in a statement that then succeeds', 'ECONNRESET', 1],
    ['is refused', 'ECONNREFUSED', Infinity],
  ])(
    'no longer rely on notifications when a connection of the store %s',
    async (_, code, failuresMax) => {
      const listener = listenerOn(database.url);
      atEnd(() => listener.stop());
      let failures = 0;
      const failing = new Proxy(pool, {
        get(target, property) {
          const value: unknown = Reflect.get(target, property, target);
          if (typeof value !== 'function') return value;
          return (...args: unknown[]): unknown => {
            const fails = property === 'query' && failures < failuresMax;
            if (!fails) return Reflect.apply(value, target, args);
            failures += 1;
            return Promise.reject(Object.assign(new Error('away'), { code }));
          };
        },
      });
      store = postgresEventStore({ pool: failing, listener });
      listener.start();
      await until(() => listener.isProven, { timeoutMs });
      const read = store.readStream(`payment-${unique()}`);
      if (failuresMax === 1) expect(await read).toEqual([]);
      else await expect(read).rejects.toThrow('away');
      expect(listener.isProven).toBe(false);
    },
    testTimeoutMs,
  );

  it(
    'read the log once for an append of another process, and not at all for one of this process',
    async () => {
      const hourMs = 3_600_000;
      const sent = open({ pollIntervalMs: hourMs, pollWithoutListenIntervalMs: hourMs });
      const reads = () => sent.get(statements.readLog.name) ?? 0;
      const follower = follow(store, { after: '' });
      atEnd(() => follower.stop());
      const elsewhere = postgresEventStore({ pool });
      atEnd(() => elsewhere.close());
      const seen = async (writer: EventStore) => {
        const count = follower.events.length + 1;
        await writer.append(`payment-${unique()}`, 'noStream', [eventToAppend()]);
        await until(() => follower.events.length === count, { timeoutMs });
      };
      // The first one may be there when the subscription begins. After that only the listener tells: it reads once more when it
      // is connected.
      await seen(elsewhere);
      await until(
        async () => {
          const before = reads();
          await seen(elsewhere);
          return reads() === before + 1;
        },
        { timeoutMs },
      );
      const before = reads();
      for (let count = 1; count <= 10; count += 1) {
        await seen(store);
        await seen(elsewhere);
      }
      expect(reads()).toBe(before + 10);
      expect(follower.events).toEqual((await store.readLog({ after: '' })).events);
    },
    testTimeoutMs,
  );

  it(
    'find events without a notification',
    async () => {
      const elsewhere = new URL(database.url);
      elsewhere.pathname = '/postgres';
      // It listens, and nothing that is sent arrives there.
      const listener = listenerOn(elsewhere.href);
      atEnd(() => listener.stop());
      open({ listener, pollIntervalMs: 50, pollProvenIntervalMs: 3_600_000 });
      const category = unique();
      const follower = follow(store, { after: '', streamPrefixes: [`${category}-`] });
      atEnd(() => follower.stop());
      const writer = postgresEventStore({ pool });
      atEnd(() => writer.close());
      for (let count = 1; count <= 3; count += 1) {
        await writer.append(`${category}-${count}`, 'noStream', [eventToAppend()]);
        await until(() => follower.events.length === count, { timeoutMs });
      }
      expect([listener.listening, listener.isProven]).toEqual([true, false]);
    },
    testTimeoutMs,
  );
});
