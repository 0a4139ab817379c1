/** Readers of a log that loses events, and readers whose checkpoint is moved. */
import { topics } from '@pis/contracts';
import {
  anchorAt,
  type EventStore,
  type Position,
  postgresEventStore,
  StoreUnavailable,
} from '@pis/event-store';
import { loseEventsAfter } from '@pis/event-store/testing';
import { integrationFeeds } from '@pis/integration';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import {
  EmbeddedConsumerStrategy,
  type EmbeddedConsumerOptions,
  type MessageContext,
  pgConsumerState,
  pgDeferredMessages,
} from '@pis/messaging';
import {
  moveCheckpoint,
  paymentsProjection,
  ProjectionRunner,
  rebuildProjection,
} from '@pis/read-models';
import { completePayment, queuePayment } from '@pis/read-models/testing';
import type pg from 'pg';
import { Registry } from 'prom-client';
import { createLogger } from './logging.js';
import { LogWatch } from './log-watch.js';

const at = '2026-11-21T09:00:00.000Z';
const timeoutMs = 20_000;

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
let watch: LogWatch;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 10);
  store = postgresEventStore({ pool });
  watch = new LogWatch({
    store,
    pool,
    metrics: new Registry(),
    logger: createLogger('test', 'silent'),
    limits: { everyMs: 20, againMs: 5, triesMax: 2 },
  });
});
afterEach(async () => {
  await watch.stop();
  await store.close();
  await pool.end();
  await database.drop();
});

const group = 'rail-executor';
const stateOfGroup = () => pgConsumerState(pool, { anchorAt: (p) => anchorAt(store, p) });

/** A consumer in this process, and the keys of the messages that it was given. */
function startGroup(options: Partial<EmbeddedConsumerOptions> = {}, log = store) {
  const feedOf = integrationFeeds({
    store: log,
    pool,
    sameLog: (reader, end) => watch.sameLog(reader, end),
    onHeld: () => undefined,
  });
  const strategy = new EmbeddedConsumerStrategy({
    group,
    source: feedOf(group),
    state: stateOfGroup(),
    deferred: pgDeferredMessages(pool),
    commitIntervalMs: 5,
    ...options,
  });
  const seen: string[] = [];
  const handle = (_value: unknown, context: MessageContext) =>
    void seen.push(context.getDelivery().key);
  strategy.addHandler(topics.payments, handle as never, true);
  strategy.listen(() => undefined);
  return { strategy, seen };
}

const committed = (position: Position) =>
  until(async () => (await pgConsumerState(pool).loadCheckpoint(group)) === position, {
    timeoutMs,
  });

it.each([
  ['under way meanwhile', 5],
  ['later', 3_600_000],
])(
  'a group reads what took the place of lost events, and saves nothing of those: %s',
  async (_, commitIntervalMs) => {
    const isUnderWay = commitIntervalMs < 1_000;
    const kept = await queuePayment(store, at);
    await moveCheckpoint(pool, group, await anchorAt(store, kept.position), 'embedded', []);
    watch.start();
    const state = stateOfGroup();
    const [begun, lost, ended] = [1, 2, 3].map(() => Promise.withResolvers<void>()) as [
      PromiseWithResolvers<void>,
      PromiseWithResolvers<void>,
      PromiseWithResolvers<void>,
    ];
    let loads = 0;
    const { strategy, seen } = startGroup({
      commitIntervalMs,
      state: {
        ...state,
        // The first one waits until the log has lost the event, and is over before the checkpoint is loaded again.
        saveCheckpoint: async (...args) => {
          begun.resolve();
          await lost.promise;
          await state.saveCheckpoint(...args).finally(() => ended.resolve());
        },
        loadCheckpoint: async (name) => {
          if (isUnderWay && (loads += 1) === 2) await ended.promise;
          return state.loadCheckpoint(name);
        },
      },
    });
    try {
      await completePayment(store, await queuePayment(store, at));
      await until(() => seen.length === 3, { timeoutMs });
      if (isUnderWay) await begun.promise;
      await loseEventsAfter(pool, 1);
      const news = [];
      for (let count = 0; count < 4; count += 1) news.push(await queuePayment(store, at));
      lost.resolve();
      for (const { streamId } of news) await until(() => seen.includes(streamId), { timeoutMs });
      expect(seen.slice(3)).toEqual(news.map(({ streamId }) => streamId));
      watch.check();
    } finally {
      lost.resolve();
      await strategy.close();
    }
    expect(await state.loadCheckpoint(group)).toBe(await store.lastPosition());
  },
);

it('a group does not go on behind a lost event after its reading has failed', async () => {
  const kept = await queuePayment(store, at);
  await moveCheckpoint(pool, group, await anchorAt(store, kept.position), 'embedded', []);
  watch.start();
  let isAway = true;
  const readStream: EventStore['readStream'] = async (...args) => {
    if (isAway) throw new StoreUnavailable('the primary is away');
    return store.readStream(...args);
  };
  const { strategy, seen } = startGroup({ commitIntervalMs: 3_600_000 }, { ...store, readStream });
  try {
    await queuePayment(store, at);
    await until(() => seen.length === 1, { timeoutMs });
    // Its message needs the events before.
    await completePayment(store, kept);
    await until(() => strategy.consumerStatus.error?.includes('is away') ?? false, { timeoutMs });
    await loseEventsAfter(pool, 1);
    const news = [];
    for (let count = 0; count < 4; count += 1) news.push(await queuePayment(store, at));
    isAway = false;
    for (const { streamId } of news) await until(() => seen.includes(streamId), { timeoutMs });
    expect(seen.slice(1)).toEqual(news.map(({ streamId }) => streamId));
  } finally {
    await strategy.close();
  }
});

it('a projection does not go on behind a lost event, also before the log is checked', async () => {
  const start = () => {
    const runner = new ProjectionRunner({ projection: paymentsProjection, store, pool });
    runner.start();
    return runner;
  };
  const before = start();
  await queuePayment(store, at);
  const { position } = await queuePayment(store, at);
  expect(await before.waitFor(position, timeoutMs)).toBe(true);
  await before.stop();
  await loseEventsAfter(pool, 1);
  for (let count = 0; count < 3; count += 1) await queuePayment(store, at);
  const runner = start();
  try {
    await until(() => runner.state.lastError?.includes('has lost the event at') ?? false, {
      timeoutMs,
    });
    expect(runner.state.position).toBe(position);
    await rebuildProjection('payments', { store, pool });
    expect(await runner.waitFor(await store.lastPosition(), timeoutMs)).toBe(true);
    const { rowCount } = await pool.query('SELECT FROM payments');
    expect(rowCount).toBe(4);
  } finally {
    await runner.stop();
  }
});

it('a running group goes on from where its checkpoint is moved, and saves nothing of before', async () => {
  for (let count = 0; count < 2; count += 1) await queuePayment(store, at);
  watch.start();
  const { strategy, seen } = startGroup();
  try {
    const last = (await queuePayment(store, at)).position;
    await until(() => seen.length === 3, { timeoutMs });
    await committed(last);
    // Nothing happens in the log meanwhile: the watch notices.
    await moveCheckpoint(pool, group, null, 'embedded', []);
    await until(() => seen.length === 6, { timeoutMs });
    expect(seen.slice(3)).toEqual(seen.slice(0, 3));
    await committed(last);
    await moveCheckpoint(pool, group, await anchorAt(store, last), 'embedded', []);
    const next = await queuePayment(store, at);
    await committed(next.position);
    // Twice if it was read before the move was noticed.
    expect(new Set(seen.slice(6))).toEqual(new Set([next.streamId]));
  } finally {
    await strategy.close();
  }
});
