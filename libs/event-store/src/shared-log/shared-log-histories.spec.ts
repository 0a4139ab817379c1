/** Random histories of appends and subscribers over one reading of the log. */
import { generator, until } from '@pis/local-servers/testing';
import { Bell } from '@pis/postgres';
import { MemoryLog, memoryEventStore } from '../memory/memory-event-store.js';
import { type EventStore, beginning } from '../port.js';
import { eventToAppend, unique } from '../testing/conformance-kit.js';
import { sharedLog } from './shared-log.js';

const append = (store: EventStore, streamId: string) =>
  store.append(streamId, 'noStream', [eventToAppend()]);

const histories = 40;

it('shows each subscriber exactly its events in order, for every history', async () => {
  for (let seed = 1; seed <= histories; seed += 1) await play(seed);
}, 60_000);

/** Appends, and subscribers that come at any place, pause, fall behind and go, as the seed chooses. */
async function play(seed: number): Promise<void> {
  const random = generator(seed);
  const log = new MemoryLog();
  const limits = {
    eventsMax: 1 + random(8),
    bytesMax: 1_000 + random(4_000),
    pageMax: 1 + random(4),
  };
  const store = sharedLog(memoryEventStore(log), limits);
  const categories = ['payment-', 'contact-', 'originator-'];
  const readers: RandomReader[] = [];
  for (let step = 0; step < 120; step += 1) {
    const choice = random(10);
    const reader = readers[random(Math.max(1, readers.length))];
    if (choice < 4) {
      for (let count = 1 + random(5); count > 0; count -= 1)
        await append(store, `${categories[random(categories.length)]}${unique()}`);
    } else if (choice === 4 && readers.length < 6) {
      const after = log.events[random(log.events.length + 1) - 1]?.position ?? beginning;
      const wanted = categories.filter(() => random(2) === 0);
      readers.push(randomReader(store, after, wanted.length === 0 ? undefined : wanted));
    } else if (choice === 5 && reader !== undefined) {
      await reader.leave();
      readers.splice(readers.indexOf(reader), 1);
      expectExactly(reader, log, reader.reached);
    } else if (reader !== undefined) {
      reader.ask(1 + random(3));
      for (let turns = random(4); turns > 0; turns -= 1) await turn();
    }
  }
  for (const reader of readers) reader.ask(Infinity);
  const last = await append(store, 'last-1');
  await append(store, 'payment-last');
  for (const reader of readers) {
    await until(() => reader.reached > last.position, { timeoutMs: 20_000 });
    await reader.leave();
    expectExactly(reader, log, reader.reached);
  }
  await store.close();
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

interface RandomReader {
  readonly after: string;
  readonly prefixes: readonly string[] | undefined;
  readonly ids: readonly string[];
  /** The position of its last page. */
  readonly reached: string;
  /** Takes this many more pages as they arrive. */
  ask(pages: number): void;
  leave(): Promise<void>;
}

function randomReader(
  store: EventStore,
  after: string,
  prefixes: string[] | undefined,
): RandomReader {
  const ending = new AbortController();
  const ids: string[] = [];
  const bell = new Bell();
  let asked = 0;
  let reached = after;
  const run = async () => {
    const wanted = prefixes === undefined ? {} : { streamPrefixes: prefixes };
    const pages = store
      .subscribe({ after, ...wanted, signal: ending.signal })
      [Symbol.asyncIterator]();
    while (!ending.signal.aborted) {
      const { rung } = bell;
      if (asked === 0) {
        await bell.wait(rung, 60_000, ending.signal);
        continue;
      }
      asked -= 1;
      const { value, done } = await pages.next();
      if (done === true) break;
      expect(value.position > reached).toBe(true);
      reached = value.position;
      ids.push(...value.events.map(({ id }) => id));
    }
    await pages.return?.();
  };
  const ended = run();
  ended.catch(() => undefined);
  return {
    after,
    prefixes,
    ids,
    get reached() {
      return reached;
    },
    ask(pages) {
      asked += pages;
      bell.ring();
    },
    async leave() {
      ending.abort();
      await ended;
    },
  };
}

function expectExactly({ after, prefixes, ids }: RandomReader, log: MemoryLog, upTo: string) {
  const expected = log.events.filter(
    ({ position, streamId }) =>
      position > after &&
      position <= upTo &&
      (prefixes?.some((prefix) => streamId.startsWith(prefix)) ?? true),
  );
  expect(ids).toEqual(expected.map(({ id }) => id));
}
