/** Conformance: the log as a whole, read in pages and followed. */
import { until } from '@pis/local-servers/testing';
import {
  type EventStore,
  EventsLost,
  type ExpectedRevision,
  type RecordedEvent,
  type SubscribeOptions,
  beginning,
} from '../port.js';
import {
  type StoreUnderTest,
  appendForSure,
  eventToAppend,
  expectInOrder,
  follow,
  testTimeoutMs,
  unique,
} from './conformance-kit.js';

type Under = () => StoreUnderTest;
const timeoutMs = 20_000;
const ids = (events: readonly RecordedEvent[]) => events.map(({ id }) => id);

export function logConforms(under: Under): void {
  const store = () => under().store;

  it(
    'reads the log in pages, each beginning after the last',
    async () => {
      const category = unique();
      const start = await store().lastPosition();
      const written: string[] = [];
      for (let count = 0; count < 25; count++) {
        const events = [eventToAppend({ count }), eventToAppend({ count })];
        await store().append(`${category}-${count}`, 'noStream', events);
        written.push(...events.map(({ id }) => id));
      }
      const read: RecordedEvent[] = [];
      let after = start;
      for (;;) {
        const page = await store().readLog({ after, pageMax: 7 });
        expect(page.events.length).toBeLessThanOrEqual(7);
        if (page.position === after) {
          expect(page.events).toEqual([]);
          break;
        }
        read.push(...page.events);
        after = page.position;
      }
      expectInOrder(read);
      expect(ids(read)).toEqual(written);
      expect(await store().lastPosition()).toBe(read.at(-1)?.position);
    },
    testTimeoutMs,
  );

  it(
    'reads only the requested streams, and returns the position read to',
    async () => {
      const category = unique();
      const start = await store().lastPosition();
      const wanted = eventToAppend();
      await store().append(`${category}a-1`, 'noStream', [wanted]);
      for (let count = 0; count < 10; count++)
        await store().append(`${category}b-${count}`, 'noStream', [eventToAppend()]);
      const last = await store().lastPosition();
      let after = start;
      const read: RecordedEvent[] = [];
      while (after < last) {
        const streamPrefixes = [`${category}a-`, `${category}_-`];
        const page = await store().readLog({ after, streamPrefixes, pageMax: 5 });
        read.push(...page.events);
        expect(page.position > after).toBe(true);
        after = page.position;
      }
      expect(ids(read)).toEqual([wanted.id]);
      expect((await store().readLog({ after: last, streamPrefixes: ['%'] })).events).toEqual([]);
    },
    testTimeoutMs,
  );
}

export function lastEventConforms(under: Under): void {
  const store = () => under().store;

  it(
    'returns the last event at or before a position, of any stream',
    async () => {
      const category = unique();
      const events = [eventToAppend(), eventToAppend(), eventToAppend()];
      const positions: string[] = [];
      for (const [index, event] of events.entries()) {
        const { position } = await store().append(`${category}-${index}`, 'noStream', [event]);
        positions.push(position);
      }
      for (const [index, position] of positions.entries())
        expect(await store().lastEvent(position)).toMatchObject({
          id: events[index]?.id,
          streamId: `${category}-${index}`,
          revision: 0,
          position,
        });
      expect(await store().lastEvent(beginning)).toBeNull();
    },
    testTimeoutMs,
  );
}

export function subscribingConforms(under: Under): void {
  const store = () => under().store;

  it(
    'reads nothing behind an event that the log does not have',
    async () => {
      const streamId = `${unique()}-1`;
      await store().append(streamId, 'noStream', [eventToAppend(), eventToAppend()]);
      const [first, second] = await store().readStream(streamId);
      const after = first?.position ?? beginning;
      const known = { after, afterEventId: first?.id, pageMax: 1 };
      const lost = { after, afterEventId: second?.id };
      const subscribed = async (options: Omit<SubscribeOptions, 'signal'>) => {
        const { signal } = new AbortController();
        for await (const page of store().subscribe({ ...options, signal })) return page;
        throw new Error('ended');
      };
      const expected = { events: [second], position: second?.position, eventId: second?.id };
      expect(await store().readLog(known)).toEqual(expected);
      expect(await subscribed(known)).toEqual(expected);
      await expect(store().readLog(lost)).rejects.toThrow(EventsLost);
      await expect(subscribed(lost)).rejects.toThrow(EventsLost);
    },
    testTimeoutMs,
  );

  it(
    'subscribes from the beginning: existing events, then new ones',
    async () => {
      const category = unique();
      const [first, second] = [eventToAppend(), eventToAppend()];
      await store().append(`${category}-1`, 'noStream', [first]);
      const follower = follow(store(), { after: beginning, streamPrefixes: [`${category}-`] });
      await until(() => follower.events.length === 1, { timeoutMs });
      await under().another().append(`${category}-2`, 'noStream', [second]);
      await until(() => follower.events.length === 2, { timeoutMs });
      await follower.stop();
      expect(ids(follower.events)).toEqual([first.id, second.id]);
    },
    testTimeoutMs,
  );

  it(
    'subscribes from any position, after which the next event comes first',
    async () => {
      const category = unique();
      const start = await store().lastPosition();
      const events = Array.from({ length: 12 }, () => eventToAppend());
      await store().append(`${category}-1`, 'noStream', events.slice(0, 5));
      for (const [index, event] of events.slice(5).entries())
        await store().append(`${category}-1`, index + 4, [event]);
      const recorded = await store().readStream(`${category}-1`);
      for (const after of [start, ...recorded.map(({ position }) => position)]) {
        const expected = ids(recorded.filter(({ position }) => position > after));
        const follower = follow(store(), { after });
        await until(() => follower.events.length === expected.length, { timeoutMs });
        await follower.stop();
        expect(ids(follower.events)).toEqual(expected);
      }
    },
    testTimeoutMs,
  );

  it(
    'never skips or reorders while several writers commit at once',
    async () => {
      const category = unique();
      const start = await store().lastPosition();
      const readers = [under().another(), under().another()];
      const early = follow(readerOf(readers, 0), { after: start });
      const filtered = follow(readerOf(readers, 1), {
        after: start,
        streamPrefixes: [`${category}-`],
        pageMax: 3,
      });
      const writers = [store(), under().another(), under().another(), under().another()];
      const written = await Promise.all(
        writers.flatMap((writer, index) =>
          [0, 1, 2, 3].map((stream) => writeStream(writer, `${category}-${index}${stream}`, 15)),
        ),
      );
      const expected = written.flat();
      const late = follow(readerOf(readers, 0), { after: start, streamPrefixes: [`${category}-`] });
      for (const follower of [early, filtered, late]) {
        await until(() => follower.events.length >= expected.length, { timeoutMs });
        await follower.stop();
        expectInOrder(follower.events);
        expect(ids(follower.events).sort()).toEqual([...expected].sort());
        expect(ids(follower.events)).toEqual(ids(early.events));
      }
      for (const page of filtered.pages) expect(page.events.length).toBeLessThanOrEqual(3);
    },
    testTimeoutMs,
  );

  it(
    'advances past events that do not match',
    async () => {
      const category = unique();
      const start = await store().lastPosition();
      const follower = follow(store(), { after: start, streamPrefixes: [`${category}-`] });
      let half = start;
      for (let count = 0; count < 100; count++) {
        const { position } = await store().append(`${unique()}-1`, 'noStream', [eventToAppend()]);
        if (count === 50) half = position;
      }
      await until(() => (follower.pages.at(-1)?.position ?? '') >= half, { timeoutMs });
      await follower.stop();
      expect(follower.events).toEqual([]);
      const positions = follower.pages.map(({ position }) => position);
      expect(positions).toEqual([...new Set(positions)].sort());
    },
    testTimeoutMs,
  );

  it(
    'waits for a slow consumer and then continues where it was',
    async () => {
      const category = unique();
      const start = await store().lastPosition();
      const ending = new AbortController();
      const options = { after: start, streamPrefixes: [`${category}-`], pageMax: 10 };
      const pages = store()
        .subscribe({ ...options, signal: ending.signal })
        [Symbol.asyncIterator]();
      const written = await writeStream(store(), `${category}-1`, 40);
      const read: string[] = [];
      while (read.length < written.length) {
        const { value } = await pages.next();
        read.push(...ids(value.events));
        await store().ping();
      }
      expect(read).toEqual(written);
      ending.abort();
      expect(await pages.next()).toEqual({ done: true, value: undefined });
    },
    testTimeoutMs,
  );

  it(
    'ends a subscription with its signal, and all of them when the store is closed',
    async () => {
      const closing = under().another();
      const after = await closing.lastPosition();
      const ended = follow(closing, { after });
      await ended.stop();
      const open = follow(closing, { after });
      await closing.close();
      await open.stop();
      expect([...ended.events, ...open.events]).toEqual([]);
    },
    testTimeoutMs,
  );
}

export function recoveryConforms(under: Under): void {
  it(
    'continues after its connections were cut: every event once, in order, none lost',
    async () => {
      const { cutConnections, store } = under();
      if (cutConnections === null) return;
      const category = unique();
      const start = await store.lastPosition();
      const another = under().another();
      const follower = follow(another, { after: start, streamPrefixes: [`${category}-`] });
      const writing = Promise.all(
        [0, 1, 2, 3, 4, 5].map((stream) =>
          writeStream(stream % 2 === 0 ? store : another, `${category}-${stream}`, 60),
        ),
      );
      for (const reached of [20, 120, 220]) {
        await until(() => follower.events.length >= reached, { timeoutMs });
        await cutConnections();
      }
      const expected = (await writing).flat();
      await until(() => follower.events.length >= expected.length, { timeoutMs });
      await cutConnections();
      const last = eventToAppend();
      await appendForSure(store, `${category}-last`, 'noStream', [last]);
      await until(() => follower.events.length > expected.length, { timeoutMs });
      await follower.stop();
      expectInOrder(follower.events);
      expect(ids(follower.events).sort()).toEqual([...expected, last.id].sort());
      await until(() => store.ping().then(() => true), { timeoutMs });
    },
    testTimeoutMs,
  );
}

/** Appends `appends` times to a stream, one or two events each. Returns the IDs in order. */
async function writeStream(
  store: EventStore,
  streamId: string,
  appends: number,
): Promise<string[]> {
  const written: string[] = [];
  let expected: ExpectedRevision = 'noStream';
  for (let count = 0; count < appends; count++) {
    const events = count % 3 === 0 ? [eventToAppend(), eventToAppend()] : [eventToAppend()];
    ({ revision: expected } = await appendForSure(store, streamId, expected, events));
    written.push(...events.map(({ id }) => id));
  }
  return written;
}

function readerOf(readers: readonly EventStore[], index: number): EventStore {
  const reader = readers[index];
  if (reader === undefined) throw new RangeError('no such reader');
  return reader;
}
