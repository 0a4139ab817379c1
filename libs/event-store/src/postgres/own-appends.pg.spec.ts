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
  EventsLost,
  type EventToAppend,
  type ExpectedRevision,
  type RecordedEvent,
  type SubscribeOptions,
  WrongExpectedRevision,
} from '../port.js';
import { eventToAppend, unique } from '../testing/conformance-kit.js';
import { loseEventsAfter } from '../testing/lost-events.js';
import { sharedLog } from '../shared-log/shared-log.js';
import { postgresEventStore, type PostgresEventStoreOptions } from './postgres-event-store.js';

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

function open(limits: Partial<PostgresEventStoreOptions>): EventStore {
  const pool = openTestPool(database.url, 5);
  const store = postgresEventStore({ pool, ...limits });
  pools.push(pool);
  stores.push(store);
  return store;
}

/** All that a subscription has shown. */
function follow(store: EventStore, options: Partial<SubscribeOptions> = {}) {
  const seen: RecordedEvent[] = [];
  const ended = (async () => {
    const from = { after: beginning, signal: ending.signal, ...options };
    for await (const { events } of store.subscribe(from)) seen.push(...events);
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
    const readers = both.flatMap((store) => [
      follow(store),
      follow(store, { streamPrefixes: ['payment-'] }),
    ]);
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

/** No connection is lost, and nobody polls the head of the log. */
it.each(['written again while nobody subscribed', 'as another one is told'])(
  'shows a new subscription nothing that a restored log lacks, %s',
  async (which) => {
    const hourMs = 3_600_000;
    const store = open({
      ...{ pollIntervalMs: hourMs, pollWithoutListenIntervalMs: hourMs },
      subscriptionPollIntervalMs: 20,
    });
    const append = () => store.append(`payment-${unique()}`, 'noStream', [eventToAppend()]);
    const before = new AbortController();
    const earlier = follow(store, { signal: before.signal });
    const other = which === 'as another one is told' ? follow(store) : null;
    const told = other === null ? null : expect(other.ended).rejects.toThrow(EventsLost);
    const { position: after } = await append();
    const [pool] = pools as [pg.Pool];
    const listening = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND query ~ '^LISTEN'`;
    await until(async () => (await pool.query(listening)).rowCount === 1, { timeoutMs });
    for (let count = 0; count < 3; count += 1) await append();
    await until(() => earlier.seen.length === 4 && (other?.seen.length ?? 4) === 4, { timeoutMs });
    before.abort();
    await earlier.ended;
    await loseEventsAfter(pool, 1);
    if (other === null) for (let count = 0; count < 4; count += 1) await append();
    const { events: log } = await store.readLog({ after });
    const later = follow(store, { after });
    await append();
    await until(() => later.seen.length > log.length, { timeoutMs });
    expect(later.seen.slice(0, log.length)).toEqual(log);
    expect(later.seen).toEqual((await store.readLog({ after })).events);
    await told;
    ending.abort();
    await later.ended;
  },
);

/** As after a failover to a replica that lagged behind. */
describe('once the log has lost events', () => {
  let pool: pg.Pool;
  let store: EventStore;
  beforeEach(() => {
    // Its notifications do not arrive, and nobody polls: only a read tells.
    store = open({ listenConnectionString: 'postgres://127.0.0.1:1/nobody', ...rarely });
    pool = pools[0] as pg.Pool;
  });

  const hourMs = 3_600_000;
  const rarely = { pollIntervalMs: hourMs, pollWithoutListenIntervalMs: hourMs };
  const append = (by: EventStore, category = 'payment') =>
    by.append(`${category}-${unique()}`, 'noStream', [eventToAppend()]);

  it.each([
    ['its own events, and other own ones took their place', 'payment', true],
    ['its own events, and those of another process took their place', 'payment', false],
    ['events that it had only passed', 'contact', true],
    ['events of others that it had only passed', 'contact', false],
  ])('a subscription ends that has read %s', async (_, category, isOwn) => {
    const another = open(rarely);
    const { seen, ended } = follow(store, { streamPrefixes: ['payment-', 'originator-'] });
    await append(store);
    for (let count = 0; count < 3; count += 1) await append(store, category);
    await append(store, 'originator');
    await until(() => seen.some(({ streamId }) => streamId.startsWith('originator-')), {
      timeoutMs,
    });
    const before = seen.length;
    await loseEventsAfter(pool, 2);
    const writer = isOwn ? store : another;
    for (let count = 0; count < 3; count += 1) await append(writer);
    const ends = expect(ended).rejects.toThrow('has lost the event at 00000000000000000005');
    await append(store);
    await ends;
    expect(seen).toHaveLength(before);
  });

  it('a subscription that begins behind a lost event ends, and one at the last kept event goes on', async () => {
    const shared = sharedLog(store);
    for (let count = 0; count < 4; count += 1) await append(store);
    const { events } = await store.readLog({ after: beginning });
    const [kept, lost] = [events[1], events[3]] as [RecordedEvent, RecordedEvent];
    await loseEventsAfter(pool, 2);
    for (let count = 0; count < 3; count += 1) await append(store);
    for (const one of [store, shared]) {
      const behind = follow(one, { after: lost.position, afterEventId: lost.id });
      await expect(behind.ended).rejects.toThrow(EventsLost);
      expect(behind.seen).toEqual([]);
      const { seen } = follow(one, { after: kept.position, afterEventId: kept.id });
      const { events: log } = await store.readLog({ after: kept.position });
      await until(() => seen.length === 3, { timeoutMs });
      expect(seen).toEqual(log);
    }
    const page = store.readLog({ after: lost.position, afterEventId: lost.id });
    await expect(page).rejects.toThrow(EventsLost);
  });

  it('a subscription ends at a reading that began just before, and has read nothing yet', async () => {
    const gate = Promise.withResolvers<void>();
    let begun = 0;
    let lookedUp = 0;
    const slow: EventStore = {
      ...store,
      lastEvent: (upTo) => store.lastEvent(upTo).finally(() => (lookedUp += 1)),
      async *subscribe(options) {
        begun += 1;
        await gate.promise;
        yield* store.subscribe(options);
      },
    };
    for (let count = 0; count < 4; count += 1) await append(store);
    const last = await store.lastEvent(await store.lastPosition());
    const { seen, ended } = follow(sharedLog(slow), {
      after: last?.position ?? beginning,
      afterEventId: last?.id,
    });
    await until(() => begun === 1 && lookedUp > 0, { timeoutMs });
    await loseEventsAfter(pool, 2);
    for (let count = 0; count < 3; count += 1) await append(store);
    const ends = expect(ended).rejects.toThrow(EventsLost);
    gate.resolve();
    await ends;
    expect(seen).toEqual([]);
  });

  it('one that begins again reads on while a slow subscriber to the same reading stays', async () => {
    const shared = sharedLog(store);
    const former = follow(shared);
    for (let count = 0; count < 4; count += 1) await append(shared);
    await until(() => former.seen.length === 4, { timeoutMs });
    const ofSlow = { after: beginning, pageMax: 1, signal: ending.signal };
    const slow = shared.subscribe(ofSlow)[Symbol.asyncIterator]();
    const { value: first } = await slow.next();
    await loseEventsAfter(pool, 2);
    const told = expect(former.ended).rejects.toThrow(EventsLost);
    for (let count = 0; count < 3; count += 1) await append(shared);
    await told;
    const kept = former.seen[1];
    const place = { after: kept?.position ?? beginning, afterEventId: kept?.id };
    const { seen, ended } = follow(shared, place);
    await until(() => seen.length === 3, { timeoutMs });
    await append(shared);
    await Promise.race([ended, until(() => seen.length === 4, { timeoutMs })]);
    expect(seen).toEqual((await store.readLog(place)).events);
    const { value: second } = await slow.next();
    expect([first, second]).toMatchObject([
      { position: '00000000000000000001' },
      { events: [kept] },
    ]);
    await slow.return?.();
  });

  it('a slow subscriber to a reading that has ended is shown no more of what was kept', async () => {
    let lookedUp = 0;
    const shared = sharedLog({
      ...store,
      lastEvent: (upTo) => store.lastEvent(upTo).finally(() => (lookedUp += 1)),
    });
    // Whoever subscribes before the end of the log is found may read by itself.
    const earlier = follow(shared);
    const ended = expect(earlier.ended).rejects.toThrow(EventsLost);
    await until(() => lookedUp === 1, { timeoutMs });
    const former = follow(shared);
    const ofSlow = { after: beginning, pageMax: 1, signal: ending.signal };
    const slow = shared.subscribe(ofSlow)[Symbol.asyncIterator]();
    const first = slow.next();
    for (let count = 0; count < 4; count += 1) await append(shared);
    await until(() => former.seen.length === 4, { timeoutMs });
    expect((await first).value).toMatchObject({ events: former.seen.slice(0, 1) });
    await loseEventsAfter(pool, 1);
    const told = expect(former.ended).rejects.toThrow(EventsLost);
    for (let count = 0; count < 4; count += 1) await append(shared);
    await Promise.all([told, ended]);
    await expect(slow.next()).rejects.toThrow(EventsLost);
  });

  it('all subscribers to one reading end, and those that begin again read everything', async () => {
    const shared = sharedLog(store);
    const former = [follow(shared), follow(shared, { streamPrefixes: ['payment-'] })];
    for (let count = 0; count < 4; count += 1) await append(shared);
    await until(() => former.every(({ seen }) => seen.length === 4), { timeoutMs });
    await loseEventsAfter(pool, 2);
    const told = former.map(({ ended }) => expect(ended).rejects.toThrow(EventsLost));
    for (let count = 0; count < 3; count += 1) await append(shared);
    await Promise.all(told);
    const [kept] = former[0]?.seen.slice(1, 2) ?? [];
    const { seen } = follow(shared, {
      after: kept?.position ?? beginning,
      afterEventId: kept?.id,
    });
    await until(() => seen.length === 3, { timeoutMs });
    expect(seen).toEqual((await store.readLog({ after: kept?.position ?? beginning })).events);
  });
});
