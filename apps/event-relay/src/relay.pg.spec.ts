import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { BrokerUnavailable, type Message, pgConsumerState } from '@pis/messaging';
import { MemoryLog } from '@pis/messaging/testing';
import { carryOverToRelay, goBackToGroups, isRelayToGoBack } from '@pis/integration';
import { Bell, Listener, WakeUps, workChannel } from '@pis/postgres';
import { createLogger } from '@pis/service-kit';
import type pg from 'pg';
import { Relay, type RelayOptions } from './relay.js';

const topic = 'facts';
const logger = createLogger('event-relay-spec', 'silent');
const timeoutMs = 20_000;

describe('the event relay', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  let log: MemoryLog;
  /** The messages on the broker, in order. */
  let published: string[];
  let relays: Relay[];

  beforeEach(async () => {
    database = await createTestDatabase();
    pool = openTestPool(database.url, 10);
    log = new MemoryLog();
    published = [];
    relays = [];
  });
  afterEach(async () => {
    await Promise.all(relays.map((relay) => relay.stop()));
    await pool.end();
    await database.drop();
  });

  const write = (...values: string[]) =>
    log.publish(values.map((value): Message => ({ topic, key: 'k', value, headers: {} })));
  const take = (messages: readonly Message[]) =>
    void published.push(...messages.map(({ value }) => value));
  const seen = (...values: string[]) =>
    until(() => published.join() === values.join(), {
      timeoutMs,
      what: `${values.join()} published`,
    });

  function start(
    publish: (messages: readonly Message[]) => Promise<void> = async (messages) => take(messages),
    changes: Partial<RelayOptions> = {},
  ): Relay {
    const relay = new Relay({
      feed: log,
      topics: [topic],
      publisher: { publish, ping: () => Promise.resolve(), close: () => Promise.resolve() },
      state: pgConsumerState(pool),
      pool,
      wakeUp: { bell: new Bell(), idleMs: () => 5 },
      logger,
      published: () => undefined,
      ...changes,
    });
    relays.push(relay);
    relay.start();
    return relay;
  }

  it('publishes everything in the order of the log, and continues after a restart', async () => {
    await write('1', '2');
    const first = start();
    await write('3');
    await seen('1', '2', '3');
    await first.stop();
    await write('4');
    start();
    await seen('1', '2', '3', '4');
  });

  it('publishes a page again after a crash before the checkpoint is saved', async () => {
    await write('1', '2');
    const state = pgConsumerState(pool);
    const dying = start(undefined, {
      state: { ...state, saveCheckpoint: () => Promise.reject(new Error('died')) },
    });
    await seen('1', '2');
    await dying.stop();
    start();
    await seen('1', '2', '1', '2');
  });

  it('never saves a checkpoint beyond what the broker has accepted, and publishes the rest later', async () => {
    let away = true;
    await write('1');
    const relay = start(async (messages) => {
      if (away) throw new BrokerUnavailable('away');
      take(messages);
    });
    await until(async () => (await healthOf(relay)) !== null, { timeoutMs });
    expect(await healthOf(relay)).toContain('away');
    expect(await pgConsumerState(pool).loadCheckpoint('event-relay')).toBe('');
    await write('2');
    away = false;
    await seen('1', '2');
    await until(async () => (await healthOf(relay)) === null, { timeoutMs });
  });

  it('is not healthy while the broker is unavailable, even with nothing to publish', async () => {
    let isGone = false;
    const publisher = {
      publish: () => Promise.reject(new Error('nothing was to be published')),
      ping: () => (isGone ? Promise.reject(new BrokerUnavailable('gone')) : Promise.resolve()),
      close: () => Promise.resolve(),
    };
    const idle = start(undefined, { publisher });
    await until(() => idle.isActive, { timeoutMs });
    const standby = start(undefined, { publisher });
    expect(await Promise.all([idle, standby].map(healthOf))).toEqual([null, null]);
    isGone = true;
    expect(await Promise.all([idle, standby].map(healthOf))).toEqual(['gone', 'gone']);
    isGone = false;
    expect(await Promise.all([idle, standby].map(healthOf))).toEqual([null, null]);
  });

  it('queries a hanging broker once, regardless of the number of health checks', async () => {
    let asked = 0;
    const answer = Promise.withResolvers<void>();
    const relay = start(undefined, {
      publisher: {
        publish: () => Promise.resolve(),
        ping: () => {
          asked += 1;
          return answer.promise;
        },
        close: () => Promise.resolve(),
      },
    });
    const checks = [relay.check(), relay.check(), relay.check()];
    answer.resolve();
    await Promise.all(checks);
    expect(asked).toBe(1);
  });

  it('is one of several, and another one takes over when the connection with the lock is cut', async () => {
    const [a, b] = [start(), start()];
    await until(() => a.isActive || b.isActive, { timeoutMs });
    await write('1');
    await seen('1');
    expect([a.isActive, b.isActive].filter(Boolean)).toHaveLength(1);
    expect([a.isPublishing, b.isPublishing].filter(Boolean)).toHaveLength(1);
    expect(await Promise.all([a, b].map(healthOf))).toEqual([null, null]);

    await pool.query(
      'SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = $1 AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())',
      ['advisory'],
    );
    await write('2', '3');
    // A relay that has not noticed the loss of its connection may have published the same messages.
    await until(() => [...new Set(published)].join() === '1,2,3', { timeoutMs });
    await until(() => a.isActive !== b.isActive, { timeoutMs });
  });

  it('wakes another one when it is stopped, although that one asks once an hour', async () => {
    const listener = new Listener({
      ...{ channels: [workChannel], connection: { connectionString: database.url } },
      ...{ retryInitialMs: 50, retryMaxMs: 2_000, connectTimeoutMs: 10_000 },
    });
    const hourMs = 3_600_000;
    const wakeUps = new WakeUps(listener, { idleMs: hourMs, idleWithoutListenMs: hourMs });
    const wakeUp = wakeUps.for('locks');
    listener.start();
    try {
      await until(() => listener.listening, { timeoutMs });
      const active = start(undefined, { wakeUp });
      await until(() => active.isActive, { timeoutMs });
      let asked = 0;
      const idleMs = () => ((asked += 1), hourMs);
      const standby = start(undefined, { wakeUp: { ...wakeUp, idleMs } });
      await until(() => asked === 1, { timeoutMs });
      await active.stop();
      await until(() => standby.isActive, { timeoutMs });
    } finally {
      await listener.stop();
    }
  });

  it('does not become active when it is stopped as a standby', async () => {
    const active = start();
    await until(() => active.isActive, { timeoutMs });
    let becameActive = 0;
    const standby = start(undefined, {
      onActive: () => Promise.resolve(void (becameActive += 1)),
    });
    await standby.stop();
    expect(becameActive).toBe(0);
  });

  it('starts at the position of the embedded groups when the broker changes to Kafka', async () => {
    await write('1', '2', '3', '4');
    const embedded = pgConsumerState(pool);
    const [, second, third] = await offsets();
    await embedded.saveCheckpoint('rail-executor', third ?? '');
    await embedded.saveCheckpoint('webhook-dispatcher', second ?? '');
    const onActive = async () => void (await carryOverToRelay(pool));
    const state = pgConsumerState(pool, { transport: 'kafka' });
    const relay = start(undefined, { onActive, state });
    await seen('3', '4');
    await relay.stop();
    // On Kafka the groups stay behind the relay: a rewind is not taken back by the next start.
    await moveTo(second ?? '');
    start(undefined, { onActive, state: pgConsumerState(pool, { transport: 'kafka' }) });
    await seen('3', '4', '3', '4');
  });

  it('publishes again what the groups had not read by the database, once after a restore or a failover', async () => {
    await write('1', '2', '3', '4');
    const kafka = () => pgConsumerState(pool, { transport: 'kafka' });
    const [first, second] = await offsets();
    const onActive = async () => void (await goBackToGroups(pool));
    const before = start(undefined, { onActive, state: kafka() });
    await seen('1', '2', '3', '4');
    await before.stop();
    await at('rail-executor', second ?? '');
    await at('webhook-dispatcher', first ?? '');
    // Without a restore the relay goes on where it was.
    const same = start(undefined, { onActive, state: kafka() });
    await write('5');
    await seen('1', '2', '3', '4', '5');
    await same.stop();

    await pool.query(
      "UPDATE consumer_checkpoints SET database_identity = 'of the lost database' WHERE consumer_group = 'event-relay'",
    );
    expect(await isRelayToGoBack(pool)).toBe(true);
    const after = start(undefined, { onActive, state: kafka() });
    await seen('1', '2', '3', '4', '5', '2', '3', '4', '5');
    expect(await isRelayToGoBack(pool)).toBe(false);
    await after.stop();
    start(undefined, { onActive, state: kafka() });
    await write('6');
    await seen('1', '2', '3', '4', '5', '2', '3', '4', '5', '6');
  });

  it('has gone back after a restore also when the process that went back has died', async () => {
    await write('1', '2', '3');
    const kafka = () => pgConsumerState(pool, { transport: 'kafka' });
    const [first] = await offsets();
    const before = start(undefined, { onActive: () => goBack(pool), state: kafka() });
    await seen('1', '2', '3');
    await before.stop();
    for (const group of ['rail-executor', 'webhook-dispatcher']) await at(group, first ?? '');
    await pool.query(
      "UPDATE consumer_checkpoints SET database_identity = 'of the lost database' WHERE consumer_group = 'event-relay'",
    );
    await expect(goBack(dyingAt('SET database_identity'))).rejects.toThrow('died here');
    expect(await isRelayToGoBack(pool)).toBe(true);
    start(undefined, { onActive: () => goBack(pool), state: kafka() });
    await seen('1', '2', '3', '2', '3');
    expect(await isRelayToGoBack(pool)).toBe(false);
  });

  async function goBack(on: pg.Pool): Promise<void> {
    await goBackToGroups(on);
  }

  /** The process dies before this statement. */
  function dyingAt(text: string): pg.Pool {
    const query = (...args: Parameters<pg.Pool['query']>): unknown =>
      JSON.stringify(args[0]).includes(text)
        ? Promise.reject(new Error('died here'))
        : pool.query(...args);
    return Object.assign(Object.create(pool) as pg.Pool, { query });
  }

  /** Where a group is by the database: the event is named, as the apps do. */
  async function at(group: string, position: string): Promise<void> {
    await pool.query(
      `INSERT INTO consumer_checkpoints (consumer_group, position, event_id, stream_id, revision, transport, updated_at)
       VALUES ($1, $2, gen_random_uuid(), 'payment-1', 0, 'kafka', now())`,
      [group, position],
    );
  }

  it('publishes events again when it is rewound while it runs', async () => {
    await write('1', '2', '3');
    start(undefined, { state: pgConsumerState(pool, { transport: 'kafka' }) });
    await seen('1', '2', '3');
    const [first] = await offsets();
    await moveTo(first ?? '');
    await write('4');
    await until(() => published.slice(3).join().endsWith('2,3,4'), { timeoutMs });
  });

  async function moveTo(position: string): Promise<void> {
    await pool.query(
      `UPDATE consumer_checkpoints SET position = $1, generation = generation + 1
       WHERE consumer_group = 'event-relay'`,
      [position],
    );
  }

  async function offsets(): Promise<readonly string[]> {
    const all = new AbortController();
    for await (const { messages } of log.subscribe({
      after: '',
      topics: [topic],
      signal: all.signal,
    }))
      return messages.map(({ offset }) => offset);
    return [];
  }

  it('hands over at once when it stops', async () => {
    const first = start();
    await until(() => first.isActive, { timeoutMs });
    const second = start();
    await first.stop();
    await write('1');
    await seen('1');
    expect([first.isActive, second.isActive]).toEqual([false, true]);
  });

  it('ends even if the broker never answers, and its successor publishes the rest', async () => {
    await write('1');
    let asked = false;
    const stuck = start(() => {
      asked = true;
      return new Promise<void>(() => undefined);
    });
    await until(() => asked, { timeoutMs });
    await stuck.stop();
    start();
    await seen('1');
  });
});

/** The reason why it is not healthy, or null if it is. */
async function healthOf(relay: Relay): Promise<string | null> {
  try {
    await relay.check();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
