/** Subscriptions to the log in PostgreSQL show what their own process has appended without reading it back. */
import {
  createTestDatabase,
  generator,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import {
  beginning,
  type EventStore,
  type EventToAppend,
  type ExpectedRevision,
  type RecordedEvent,
  WrongExpectedRevision,
} from '../port.js';
import { eventToAppend, unique } from '../testing/conformance-kit.js';
import { postgresEventStore, type PostgresEventStoreLimits } from './postgres-event-store.js';

const timeoutMs = 20_000;

let database: TestDatabase;
let pools: pg.Pool[];
let stores: EventStore[];
let ending: AbortController;

beforeEach(async () => {
  database = await createTestDatabase();
  [pools, stores, ending] = [[], [], new AbortController()];
});
afterEach(async () => {
  ending.abort();
  await Promise.all(stores.map((store) => store.close()));
  await Promise.all(pools.map((pool) => pool.end()));
  await database.drop();
});

function open(limits: Partial<PostgresEventStoreLimits>): EventStore {
  const pool = openTestPool(database.url, 5);
  const store = postgresEventStore({ pool, ...limits });
  pools.push(pool);
  stores.push(store);
  return store;
}

/** All that a subscription has shown. */
function follow(store: EventStore, streamPrefixes?: readonly string[]) {
  const seen: RecordedEvent[] = [];
  const { signal } = ending;
  const prefixes = streamPrefixes === undefined ? {} : { streamPrefixes };
  const ended = (async () => {
    for await (const { events } of store.subscribe({ after: beginning, signal, ...prefixes }))
      seen.push(...events);
  })();
  return { seen, ended };
}

/** Appends of both, repeated ones with the same ids and another content, and conflicts. */
it.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'shows exactly the log of two processes, history %i',
  async (seed) => {
    const random = generator(seed);
    const own = () => ({ ownEventsMax: 1 + random(6), ownBytesMax: 2_000 + random(8_000) });
    const both = [open(own()), open(own())] as const;
    const readers = both.flatMap((store) => [follow(store), follow(store, ['payment-'])]);
    const streams: { readonly id: string; length: number }[] = [];
    const done: { id: string; expected: ExpectedRevision; events: EventToAppend[] }[] = [];
    for (let step = 0; step < 60; step += 1) {
      const store = both[random(10) < 7 ? 0 : 1] as EventStore;
      const choice = random(10);
      const last = done.at(-1);
      if (choice === 0 && last !== undefined) {
        const { id, expected, events } = last;
        const again = events.map((event) => ({ ...event, data: { repeated: step } }));
        await both[random(2) as 0 | 1].append(id, expected, again);
      } else if (choice === 1 && streams[0] !== undefined) {
        const conflict = store.append(streams[0].id, 'noStream', [eventToAppend()]);
        await expect(conflict).rejects.toThrow(WrongExpectedRevision);
      } else {
        // Together, so that some share a batch.
        const appends = Array.from({ length: 1 + random(4) }, () => {
          const known = random(3) === 0 ? streams[random(Math.max(1, streams.length))] : undefined;
          const id = known?.id ?? `${random(2) === 0 ? 'payment' : 'contact'}-${unique()}`;
          const expected = known === undefined ? 'noStream' : known.length - 1;
          const events = Array.from({ length: 1 + random(3) }, () => eventToAppend());
          if (known === undefined) streams.push({ id, length: events.length });
          else known.length += events.length;
          done.push({ id, expected, events });
          return store.append(id, expected, events);
        });
        await Promise.all(appends);
      }
    }
    const { events: log } = await both[0].readLog({ after: beginning, pageMax: 1_000 });
    const ofPayments = log.filter(({ streamId }) => streamId.startsWith('payment-'));
    for (const [index, { seen }] of readers.entries()) {
      const expected = index % 2 === 0 ? log : ofPayments;
      await until(() => seen.length >= expected.length, { timeoutMs });
      expect(seen).toEqual(expected);
    }
    ending.abort();
    await Promise.all(readers.map(({ ended }) => ended));
  },
);
