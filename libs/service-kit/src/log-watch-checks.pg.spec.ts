/** When the log is checked, how sure a finding is, and what is said of it. */
import { getEventListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { anchorAt, type EventStore, memoryEventStore, StoreUnavailable } from '@pis/event-store';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { moveCheckpoint } from '@pis/read-models';
import { queuePayment } from '@pis/read-models/testing';
import type pg from 'pg';
import { Registry } from 'prom-client';
import type { Logger } from './logging.js';
import { LogWatch, type LogWatchLimits } from './log-watch.js';
import { shortReaders } from './short-readers.js';

const at = '2026-11-21T09:00:00.000Z';
const timeoutMs = 20_000;
const hourMs = 3_600_000;
const reader = 'event-relay';

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
/** What a read of the event of the checkpoint does, by how often it was read. */
let answer: (reads: number) => 'there' | 'missing' | 'unavailable';
let reads: number;
let said: string[];
let unchecked: string[];
let watches: LogWatch[];

beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 5);
  const whole = memoryEventStore();
  answer = () => 'there';
  reads = 0;
  said = [];
  unchecked = [];
  watches = [];
  const { streamId, position } = await queuePayment(whole, at);
  await moveCheckpoint(pool, reader, await anchorAt(whole, position), 'kafka', []);
  store = {
    ...whole,
    readStream: async (asked, options) => {
      if (asked !== streamId) return whole.readStream(asked, options);
      reads += 1;
      const given = answer(reads);
      if (given === 'unavailable') throw new StoreUnavailable('away');
      return given === 'missing' ? [] : whole.readStream(asked, options);
    },
  };
});
afterEach(async () => {
  await Promise.all(watches.map((watch) => watch.stop()));
  await store.close();
  await pool.end();
  await database.drop();
});

function watchWith(limits: LogWatchLimits): LogWatch {
  const logger = {
    error: (_fields: unknown, message: string) => void said.push(message),
    info: (message: string) => void said.push(message),
    debug: (_fields: unknown, message: string) => void unchecked.push(message),
  } as unknown as Logger;
  const watch = new LogWatch({ store, pool, logger, metrics: new Registry(), limits });
  watches.push(watch);
  return watch;
}

const forever = () => new AbortController().signal;

it('an event that a lagging replica of the store lacks for a moment is not missing', async () => {
  answer = (count) => (count < 3 ? 'missing' : 'there');
  const watch = watchWith({ everyMs: hourMs, againMs: 1, triesMax: 3 });
  watch.start();
  await watch.untilChecked(forever());
  watch.check();
  expect([reads, said]).toEqual([3, []]);
});

it('a check that is stopped before it is sure finds nothing', async () => {
  answer = () => 'missing';
  const watch = watchWith({ everyMs: hourMs, againMs: hourMs, triesMax: 3 });
  watch.start();
  await until(() => reads > 0, { timeoutMs });
  await watch.stop();
  expect([reads, said]).toEqual([1, []]);
  expect(() => watch.check()).toThrow('has not been checked');
});

it('the log is soon checked again until the first check succeeds', async () => {
  answer = (count) => (count < 5 ? 'unavailable' : 'there');
  const watch = watchWith({ everyMs: hourMs, againMs: 1, triesMax: 1 });
  watch.start();
  await watch.untilChecked(forever());
  expect(reads).toBe(5);
  expect(unchecked).toEqual(Array.from({ length: 4 }, () => 'the event log was not checked'));
});

it('a stop waits for the check that runs', async () => {
  const { readStream } = store;
  const [begun, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  store = {
    ...store,
    readStream: async (...asked) => {
      begun.resolve();
      await answered.promise;
      return readStream(...asked);
    },
  };
  const watch = watchWith({ everyMs: hourMs, againMs: 1, triesMax: 1 });
  watch.start();
  await begun.promise;
  let isStopped = false;
  const stopped = watch.stop().then(() => (isStopped = true));
  await nextTurn();
  expect(isStopped).toBe(false);
  answered.resolve();
  await stopped;
});

it('the log is not checked for a connection that was not lost', async () => {
  const connections: ((failure: Error | null) => void)[] = [];
  const subscribe: EventStore['subscribe'] = (options) => {
    connections.push((failure) => options.onConnection?.(failure));
    return store.subscribe(options);
  };
  const watch = watchWith({ everyMs: hourMs, againMs: 1, triesMax: 1 });
  watch.start();
  await watch.untilChecked(forever());
  watch.watched({ ...store, subscribe }).subscribe({ after: '', signal: forever() });
  const report = async (failure: Error | null) => {
    for (const connection of connections) connection(failure);
    // A check that this asked for has begun.
    await nextTurn();
  };
  await report(null);
  expect(reads).toBe(1);
  await report(new Error('lost'));
  await report(null);
  await until(() => reads > 1, { timeoutMs });
  await report(null);
  await watch.stop();
  expect(reads).toBe(2);
});

it('what is missing is said once, and once that it is there again', async () => {
  answer = () => 'missing';
  const watch = watchWith({ everyMs: 1, againMs: 1, triesMax: 1 });
  watch.start();
  await until(() => reads > 5, { timeoutMs });
  answer = () => 'there';
  const before = reads;
  await until(() => reads > before + 5, { timeoutMs });
  expect(said).toEqual([
    expect.stringContaining(`lacks events that were read from it by ${reader}`),
    'the event log has the events of all checkpoints again',
  ]);
});

it('a reader without a checkpoint starts again when an operator gives it one, and no other', async () => {
  const watch = watchWith({ everyMs: 1, againMs: 1, triesMax: 1 });
  watch.start();
  const [added, former] = await Promise.all(
    ['webhook-dispatcher', reader].map((name) => watch.sameLog(name, forever())),
  );
  const before = reads;
  await until(() => reads > before + 2, { timeoutMs });
  expect(added?.aborted).toBe(false);
  await moveCheckpoint(pool, 'webhook-dispatcher', null, 'kafka', []);
  await until(() => added?.aborted === true, { timeoutMs });
  expect(String(added?.reason)).toContain('the checkpoint of webhook-dispatcher was moved');
  expect((await watch.sameLog('webhook-dispatcher', forever())).aborted).toBe(false);
  expect(former?.aborted).toBe(false);
});

it('a reader that ends does not wait for the first check', async () => {
  const watch = watchWith({ everyMs: hourMs, againMs: hourMs, triesMax: 1 });
  await expect(watch.untilChecked(AbortSignal.abort(new Error('over')))).rejects.toThrow('over');
  const ending = new AbortController();
  const waiting = watch.sameLog(reader, ending.signal);
  ending.abort(new Error('ended'));
  await expect(waiting).rejects.toThrow('ended');
});

it('a reader that has waited for the first check leaves nothing at its signal', async () => {
  const watch = watchWith({ everyMs: hourMs, againMs: 1, triesMax: 1 });
  const { signal } = new AbortController();
  const waiting = watch.untilChecked(signal);
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  watch.start();
  await waiting;
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('readers at the same place cost one read, and another position of the event counts as another place', async () => {
  const position = await store.lastPosition();
  const anchor = await anchorAt(store, position);
  if (anchor === null) throw new Error('there is no event');
  const elsewhere = { ...anchor, position: `${position}9` };
  const checkpoints = [anchor, anchor, elsewhere, anchor].map((one, index) => ({
    ...{ reader: String(index), position: one.position, anchor: one, generation: 0 },
  }));
  expect(await shortReaders(store, checkpoints)).toEqual(['2']);
  expect(reads).toBe(2);
});
