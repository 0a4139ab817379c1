import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { BrokerUnavailable, type Message, pgConsumerState } from '@pis/messaging';
import { MemoryLog } from '@pis/messaging/testing';
import { carryOverToRelay } from '@pis/integration';
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
  /** What the broker has, in its order. */
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
      logger,
      published: () => undefined,
      ...changes,
    });
    relays.push(relay);
    relay.start();
    return relay;
  }

  it('publishes everything in the order of the log, and goes on where it was after a restart', async () => {
    await write('1', '2');
    const first = start();
    await write('3');
    await seen('1', '2', '3');
    await first.stop();
    await write('4');
    start();
    await seen('1', '2', '3', '4');
  });

  it('publishes again what it had published when it died before it noted how far it is', async () => {
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

  it('never notes more than the broker has: what could not be published comes when it can', async () => {
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

  it('is not healthy while the broker is gone, although it has nothing to publish', async () => {
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

  it('asks a broker that hangs once, however often its health is asked for', async () => {
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

  it('is one of several, and another one goes on when the connection that made it so is cut', async () => {
    const [a, b] = [start(), start()];
    await until(() => a.isActive || b.isActive, { timeoutMs });
    await write('1');
    await seen('1');
    expect([a.isActive, b.isActive].filter(Boolean)).toHaveLength(1);
    expect(await Promise.all([a, b].map(healthOf))).toEqual([null, null]);

    await pool.query(
      'SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = $1 AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())',
      ['advisory'],
    );
    await write('2', '3');
    // Who has not yet heard that its connection is gone may have published what the other one does, too.
    await until(() => [...new Set(published)].join() === '1,2,3', { timeoutMs });
    await until(() => a.isActive !== b.isActive, { timeoutMs });
  });

  it('does nothing as the active one when it is stopped while another one is', async () => {
    const active = start();
    await until(() => active.isActive, { timeoutMs });
    let becameActive = 0;
    const standby = start(undefined, {
      onActive: () => Promise.resolve(void (becameActive += 1)),
    });
    await standby.stop();
    expect(becameActive).toBe(0);
  });

  it('begins where the embedded groups were, and not before, when the broker changes to Kafka', async () => {
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

  it('publishes again what follows the place that it is rewound to while it runs', async () => {
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

  it('hands over at once when it is stopped', async () => {
    const first = start();
    await until(() => first.isActive, { timeoutMs });
    const second = start();
    await first.stop();
    await write('1');
    await seen('1');
    expect([first.isActive, second.isActive]).toEqual([false, true]);
  });

  it('ends although the broker never answers, and its successor publishes what it could not', async () => {
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

/** Why it is not healthy, null when it is. */
async function healthOf(relay: Relay): Promise<string | null> {
  try {
    await relay.check();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
