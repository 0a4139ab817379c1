import {
  closeAfterEach,
  createTestDatabase,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { Listener } from './listener.js';
import { createPool } from './pool.js';
import { asSingleton, endSession, takeLock, withLock } from './singleton.js';
import { silenceable } from './testing/silent-proxy.js';
import { standbyPollMs, type WakeUp, workChannel, WakeUps } from './wake-ups.js';

const log = { warn: () => undefined, debug: () => undefined };
const lock = { key: 4_711 };
const limit = { timeoutMs: 20_000 };

describe('a job that one process at a time does', () => {
  const atEnd = closeAfterEach();

  let database: TestDatabase;
  let pool: pg.Pool;
  let pollMs: number;

  beforeEach(async () => {
    pollMs = 5;
    database = await createTestDatabase();
    pool = createPool(database.url, 'spec', log);
  });
  afterEach(async () => {
    await pool.end();
    await database.drop();
  });

  /** Holds the lock until `end` is called. */
  async function holder(held = lock, wakeUp?: WakeUp) {
    const end = Promise.withResolvers<string>();
    const started = Promise.withResolvers<AbortSignal>();
    const ended = asSingleton(pool, held, { pollMs, wakeUp }, (_client, lost) => {
      started.resolve(lost);
      lost.addEventListener('abort', () => end.resolve('lost'));
      return end.promise;
    });
    ended.catch(() => undefined);
    return { lost: await started.promise, end: () => end.resolve('done'), ended };
  }

  it('is skipped by processes that do not wait, and is free again when it ends', async () => {
    const first = await holder();
    expect(await asSingleton(pool, lock, undefined, () => Promise.resolve('second'))).toBeNull();
    first.end();
    expect(await first.ended).toBe('done');
    expect(await asSingleton(pool, lock, undefined, () => Promise.resolve('third'))).toBe('third');
  });

  it('is taken over by one that waits', async () => {
    const first = await holder();
    let waits = 0;
    const wait = { pollMs, onWaiting: () => (waits += 1) };
    const second = asSingleton(pool, lock, wait, () => Promise.resolve('second'));
    await until(() => waits > 1, limit);
    first.end();
    expect(await second).toBe('second');
  });

  describe('with a standby that is woken', () => {
    const hourMs = 3_600_000;
    let listener: Listener;
    let wakeUp: WakeUp;
    let heard: string[];

    beforeEach(async () => {
      listener = new Listener({
        ...{ channels: [workChannel], connection: { connectionString: database.url } },
        ...{ retryInitialMs: 5, retryMaxMs: 50, connectTimeoutMs: 10_000, senders: pool },
      });
      wakeUp = new WakeUps(listener, { idleMs: hourMs, idleWithoutListenMs: hourMs }).for('locks');
      heard = [];
      const onNotification = (kind: string) => void heard.push(kind);
      listener.add({ channel: workChannel, onNotification, onListening: () => undefined });
      listener.start();
      await until(() => listener.isProven, limit);
    });
    afterEach(() => listener.stop());

    it('is taken over at once when it ends in order, although the standby asks once an hour', async () => {
      const first = await holder(lock, wakeUp);
      let asked = 0;
      const wait = { pollMs, wakeUp, onWaiting: () => (asked += 1) };
      const second = asSingleton(pool, lock, wait, () => Promise.resolve('second'));
      await until(() => asked === 1, limit);
      first.end();
      expect(await second).toBe('second');
      expect(asked).toBe(1);
    });

    it('is announced only by whoever held a lock that others wait for', async () => {
      const first = await holder(lock, wakeUp);
      const wait = { pollMs, wakeUp, timeoutMs: 0 };
      expect(await asSingleton(pool, lock, wait, () => Promise.resolve('second'))).toBeNull();
      const other = await holder({ key: 4_712 });
      other.end();
      await other.ended;
      // Notifications arrive in the order of their transactions.
      await pool.query(`SELECT pg_notify('${workChannel}', 'before')`);
      first.end();
      await first.ended;
      await until(() => heard.length === 2, limit);
      expect(heard).toEqual(['before', 'locks']);
    });
  });

  it('is free for others within ten seconds when the machine of its process vanishes', async () => {
    const settings = await asSingleton(pool, lock, undefined, async (client) => {
      const { rows } = await client.query<Record<'silent' | 'unanswered', number>>(
        `SELECT current_setting('tcp_keepalives_idle')::int
            + current_setting('tcp_keepalives_interval')::int
            * current_setting('tcp_keepalives_count')::int AS silent,
          (SELECT setting::int / 1000 FROM pg_settings WHERE name = 'tcp_user_timeout') AS unanswered`,
      );
      return rows[0];
    });
    // PostgreSQL answers what the kernel has taken: 0 where it is not a TCP connection.
    expect(settings).toEqual({ silent: 7, unanswered: 8 });
    expect(
      Math.max(settings?.silent ?? 0, settings?.unanswered ?? 0) + standbyPollMs / 1_000,
    ).toBeLessThanOrEqual(10);
  });

  it('makes a waiting process give up when its signal aborts, or after its time limit', async () => {
    const first = await holder();
    const stopping = new AbortController();
    const work = () => Promise.reject(new Error('does not hold the lock'));
    const wait = { pollMs: 60_000, signal: stopping.signal, onWaiting: () => stopping.abort() };
    expect(await asSingleton(pool, lock, wait, work)).toBeNull();
    expect(await asSingleton(pool, lock, { pollMs, timeoutMs: 1 }, work)).toBeNull();
    first.end();
    await first.ended;
  });

  it('has locks by number and by name that do not exclude each other', async () => {
    const holders = [await holder(), await holder({ key: 4_712 })];
    for (const name of ['a', 'b']) holders.push(await holder({ ...lock, name } as typeof lock));
    for (const { end } of holders) end();
    expect(await Promise.all(holders.map(({ ended }) => ended))).toHaveLength(4);
  });

  it('is free again when its work fails', async () => {
    const failed = asSingleton(pool, lock, undefined, () => Promise.reject(new Error('failed')));
    await expect(failed).rejects.toThrow('failed');
    expect(await asSingleton(pool, lock, undefined, () => Promise.resolve('next'))).toBe('next');
  });

  it('fails when its connection is cut, and another process takes it over', async () => {
    const first = await holder();
    await pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    await expect(first.ended).rejects.toThrow();
    expect(first.lost.aborted).toBe(true);
    const second = asSingleton(pool, lock, { pollMs }, () => Promise.resolve('second'));
    expect(await second).toBe('second');
  });

  it('has further locks in its own session, which are free again when their work ends or fails', async () => {
    const further = { ...lock, name: 'further' };
    const isTaken = async () => (await asSingleton(pool, further, undefined, nothing)) === null;
    const nothing = () => Promise.resolve('done');
    await asSingleton(pool, lock, undefined, async (client) => {
      expect(await withLock(client, further, undefined, isTaken)).toBe(true);
      expect(await isTaken()).toBe(false);
      const failed = withLock(client, further, undefined, () =>
        Promise.reject(new Error('failed')),
      );
      await expect(failed).rejects.toThrow('failed');
      expect(await isTaken()).toBe(false);
    });
    const other = await holder(further);
    await asSingleton(pool, lock, undefined, async (client) =>
      expect(await withLock(client, further, undefined, nothing)).toBeNull(),
    );
    other.end();
    await other.ended;
  });

  it('ends soon although the server no longer answers', async () => {
    const proxy = await silenceable(database.url);
    atEnd(() => proxy.close());
    const throughProxy = createPool(proxy.url, 'spec', log);
    atEnd(() => throughProxy.end());
    const client = await throughProxy.connect();
    expect(await takeLock(client, lock)).toBe(true);
    proxy.silent = true;
    const startedMs = performance.now();
    await endSession(client);
    // Far below the 35 seconds after which the pool itself gives up on an answer.
    expect(performance.now() - startedMs).toBeLessThan(20_000);
  });
});
