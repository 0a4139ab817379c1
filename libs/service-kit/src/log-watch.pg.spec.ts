import { randomUUID } from 'node:crypto';
import { topics } from '@pis/contracts';
import {
  anchorAt,
  type EventStore,
  memoryEventStore,
  MemoryLog,
  type Position,
  postgresEventStore,
  systemContext,
} from '@pis/event-store';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { pgConsumerState } from '@pis/messaging';
import {
  moveCheckpoint,
  paymentsProjection,
  ProjectionRunner,
  type ReaderCheckpoint,
  rebuildProjection,
} from '@pis/read-models';
import { completePayment, queuePayment } from '@pis/read-models/testing';
import type pg from 'pg';
import { Registry } from 'prom-client';
import { loseEventsAfter } from '@pis/event-store/testing';
import { integrationFeeds } from '@pis/integration';
import { createLogger } from './logging.js';
import { LogWatch } from './log-watch.js';
import { shortReaders } from './short-readers.js';
import { bindStore, rebindDatabase } from './store-binding.js';

const at = '2026-11-21T09:00:00.000Z';
const timeoutMs = 20_000;
const eventsMax = 9;

/** Alternates payments and other streams, so that events of other streams lie between those of one reader. */
async function write(store: EventStore, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1)
    if (n % 3 === 2)
      await store.append(`other-${randomUUID()}`, 'noStream', [
        { id: randomUUID(), type: 'Other', data: {}, metadata: metadata() },
      ]);
    else await queuePayment(store, at);
}

function metadata() {
  return {
    at,
    schemaVersion: 1,
    actor: 'system:test',
    requestId: null,
    correlationId: 'c',
    causationId: null,
    traceparent: null,
    previousHash: null,
  };
}

/** One checkpoint after each event, and one before the first. */
async function checkpointsOf(store: EventStore): Promise<readonly ReaderCheckpoint[]> {
  const positions: Position[] = [
    '',
    ...(await store.readLog({ after: '' })).events.map((e) => e.position),
  ];
  return Promise.all(
    positions.map(async (position, index) => ({
      reader: String(index),
      position,
      anchor: await anchorAt(store, position),
      generation: 0,
    })),
  );
}

/** The checkpoints on an event after the cut. */
function expectedShort(kept: number, of: number): readonly string[] {
  return Array.from({ length: of - kept }, (_, index) => String(kept + 1 + index));
}

const grownAgain = [0, 1, eventsMax, 3 * eventsMax];

it('a log that was cut at any position and continued is too short exactly for readers beyond the cut', async () => {
  const log = new MemoryLog();
  const store = memoryEventStore(log);
  await write(store, eventsMax);
  const checkpoints = await checkpointsOf(store);
  for (let kept = 0; kept <= eventsMax; kept += 1)
    for (const more of grownAgain) {
      const cut = new MemoryLog();
      for (const event of log.events.slice(0, kept)) {
        cut.events.push(event);
        cut.streams.set(event.streamId, [...(cut.streams.get(event.streamId) ?? []), event]);
      }
      const restored = memoryEventStore(cut);
      await write(restored, more);
      expect(await shortReaders(restored, checkpoints)).toEqual(expectedShort(kept, eventsMax));
    }
});

describe('on PostgreSQL', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  let store: EventStore;
  let watch: LogWatch;
  let metrics: Registry;

  beforeEach(async () => {
    database = await createTestDatabase();
    pool = openTestPool(database.url, 10);
    store = postgresEventStore({ pool });
    metrics = new Registry();
    watch = new LogWatch({
      store,
      pool,
      metrics,
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

  it('a log that was cut at any position is too short exactly for readers beyond the cut', async () => {
    for (let kept = 0; kept <= eventsMax; kept += 1) {
      await loseEventsAfter(pool, 0);
      await write(store, eventsMax);
      const checkpoints = await checkpointsOf(store);
      await loseEventsAfter(pool, kept);
      expect(await shortReaders(store, checkpoints)).toEqual(expectedShort(kept, eventsMax));
      await write(store, eventsMax);
      expect(await shortReaders(store, checkpoints)).toEqual(expectedShort(kept, eventsMax));
    }
  });

  it('a checkpoint of an older release, without its event, detects only an empty log', async () => {
    await write(store, 2);
    const position = await store.lastPosition();
    const old = { reader: 'old', position, anchor: null, generation: 0 };
    expect(await shortReaders(store, [old])).toEqual([]);
    await loseEventsAfter(pool, 0);
    expect(await shortReaders(store, [old])).toEqual(['old']);
  });

  it('readers pause, report the reason, and continue where an operator puts them', async () => {
    const runner = new ProjectionRunner({
      projection: paymentsProjection,
      store,
      pool,
      sameLog: (ending) => watch.sameLog('projection:payments', ending),
    });
    const published: string[] = [];
    const reading = new AbortController();
    const feedOf = integrationFeeds({
      store,
      pool,
      sameLog: (reader, ending) => watch.sameLog(reader, ending),
      onHeld: () => undefined,
    });
    /** Like the relay, restarts from its checkpoint after each failure. */
    const relay = async () => {
      const { signal } = reading;
      const state = pgConsumerState(pool, {
        anchorAt: (p) => anchorAt(store, p),
        transport: 'kafka',
      });
      while (!signal.aborted)
        try {
          const after = await state.loadCheckpoint('event-relay');
          const given = { after, topics: [topics.payments], signal };
          for await (const page of feedOf('event-relay').subscribe(given)) {
            published.push(...page.messages.map(({ key }) => key));
            await state.saveCheckpoint('event-relay', page.position);
          }
        } catch (error) {
          expect(['StoreUnavailable', 'CheckpointMoved']).toContain((error as Error).name);
          await until(async () => signal.aborted || (await isWell()), { timeoutMs, everyMs: 20 });
        }
    };
    const isWell = async () => {
      try {
        watch.check();
        return true;
      } catch {
        return false;
      }
    };
    expect(() => watch.check()).toThrow(/has not been checked/);
    watch.start();
    runner.start();
    const relaying = relay();
    try {
      const kept = await queuePayment(store, at);
      const lost = await queuePayment(store, at);
      await completePayment(store, lost);
      await until(() => published.length === 4 && runner.state.position === lostEnd(), {
        timeoutMs,
      });

      await loseEventsAfter(pool, 1);
      await until(async () => !(await isWell()), { timeoutMs });
      expect(() => watch.check()).toThrow(
        /lacks events that were read from it by event-relay, projection:payments/,
      );
      await until(() => runner.state.lastError !== null, { timeoutMs });
      expect(await metrics.metrics()).toContain('pis_log_too_short{reader="event-relay"} 1');

      // Written while nobody reads, at positions that were read before.
      const [late, later] = [await queuePayment(store, at), await queuePayment(store, at)];
      await completePayment(store, later);
      expect(published).toHaveLength(4);

      await moveCheckpoint(pool, 'event-relay', await anchorAt(store, kept.position), 'kafka', []);
      await rebuildProjection('payments', { store, pool });
      await until(() => published.length === 8, { timeoutMs });
      expect(published.slice(4)).toEqual([
        late.streamId,
        later.streamId,
        later.streamId,
        later.streamId,
      ]);
      await until(() => isWell(), { timeoutMs });
      const after = await queuePayment(store, at);
      expect(await runner.waitFor(after.position, timeoutMs)).toBe(true);
      expect(await metrics.metrics()).toContain('pis_log_too_short{reader="event-relay"} 0');
      const { rows } = await pool.query<{ payment_id: string }>('SELECT payment_id FROM payments');
      expect(rows.map((row) => row.payment_id).sort()).toEqual(
        [kept, late, later, after].map(({ paymentId }) => paymentId).sort(),
      );
    } finally {
      reading.abort();
      await relaying;
      await runner.stop();
    }
  });

  it('each check sends one statement to the database, besides its read of the log', async () => {
    await bind();
    const sent: string[] = [];
    const counting = new Proxy(pool, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          if (property === 'query') sent.push(JSON.stringify(args[0]));
          return Reflect.apply(value, target, args);
        };
      },
    });
    let reads = 0;
    const counted: EventStore = {
      ...store,
      readStream(...args) {
        reads += 1;
        return store.readStream(...args);
      },
    };
    const watching = new LogWatch({
      store: counted,
      pool: counting,
      metrics: new Registry(),
      logger: createLogger('test', 'silent'),
      limits: { everyMs: 1, againMs: 1, triesMax: 1 },
    });
    watching.start();
    await until(() => reads >= 10, { timeoutMs });
    await watching.stop();
    watching.check();
    // Without checkpoints a check reads the binding of the store alone.
    expect(sent).toHaveLength(reads);
  });

  it('all readers pause while the store is not the one that the database belongs to', async () => {
    await bind();
    watch.start();
    const { signal } = new AbortController();
    const reading = await watch.sameLog('a-reader-without-a-checkpoint', signal);
    expect(() => watch.check()).not.toThrow();

    await loseEventsAfter(pool, 0);
    await until(() => reading.aborted, { timeoutMs });
    expect(() => watch.check()).toThrow(/not the one that the database belongs to/);
    expect((await watch.sameLog('another', signal)).aborted).toBe(true);
    expect(await metrics.metrics()).toContain('pis_log_too_short{reader="store-binding"} 1');

    await rebindDatabase({ store, pool });
    await bind();
    await until(async () => !(await watch.sameLog('another', signal)).aborted, { timeoutMs });
    watch.check();
  });

  it('the store is checked as soon as a lost connection to the log returns', async () => {
    const connections: ((failure: Error | null) => void)[] = [];
    const subscribe: EventStore['subscribe'] = (options) => {
      connections.push((failure) => options.onConnection?.(failure));
      return store.subscribe(options);
    };
    const rare = new LogWatch({
      store,
      pool,
      metrics: new Registry(),
      logger: createLogger('test', 'silent'),
      limits: { everyMs: 3_600_000, againMs: 5, triesMax: 2 },
    });
    await bind();
    rare.start();
    try {
      const ending = new AbortController();
      const reported: (Error | null)[] = [];
      const onConnection = (failure: Error | null) => void reported.push(failure);
      rare
        .watched({ ...store, subscribe })
        .subscribe({ after: '', signal: ending.signal, onConnection });
      await rare.untilChecked(ending.signal);
      rare.check();
      const lost = new Error('lost');
      const report = (failure: Error | null) => {
        for (const connection of connections) connection(failure);
      };
      report(lost);
      await loseEventsAfter(pool, 0);
      report(null);
      await until(() => isRefused(rare), { timeoutMs });
      expect(reported).toEqual([lost, null]);
    } finally {
      await rare.stop();
    }
  });

  const bind = () =>
    bindStore({
      store,
      pool,
      environment: 'sandbox',
      keyring: null,
      by: systemContext('test'),
      logger: { error: () => undefined },
    });

  const isRefused = (one: LogWatch) => {
    try {
      one.check();
      return false;
    } catch {
      return true;
    }
  };

  const lostEnd = () => '4'.padStart(20, '0');
});
