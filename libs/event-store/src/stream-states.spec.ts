import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import type { Aggregate, DomainCommand, DomainEvent } from '@pis/domain';
import { MemoryLog, memoryEventStore } from './memory/memory-event-store.js';
import type { EventStore } from './port.js';
import type { CommandContext } from './command-context.js';
import { repository } from './repository.js';
import { type Snapshot, type SnapshotStore, StreamStates, streamPageMax } from './stream-states.js';
import { countingStore } from './testing/counting-store.js';

type Total = { readonly amount: number; readonly count: number };
type Command = DomainCommand<'Add', { readonly amount: number; readonly note?: string }>;
type Event = DomainEvent<'Added', Command['data']>;

const total: Aggregate<Total, Command, Event, never, 'total'> = {
  category: 'total',
  initial: { amount: 0, count: 0 },
  decide: ({ at, data }) => [{ type: 'Added', at, data }],
  evolve: ({ amount, count }, { data }) => ({ amount: amount + data.amount, count: count + 1 }),
  stateVersion: 1,
  schemaVersions: { Added: 1 },
};

const at = '2026-11-21T09:00:00.000Z';
const context: CommandContext = {
  actor: 'system:test',
  requestId: null,
  correlationId: 'test',
  causationId: null,
  traceparent: null,
};
const add = (amount: number, note?: string): Command => ({
  type: 'Add',
  at,
  data: { amount, ...(note === undefined ? {} : { note }) },
});
/** The number of changes of one contact that once slowed down all requests. */
const changes = 2_700;
const sumOf = (count: number) => (count * (count + 1)) / 2;

function memorySnapshots(): SnapshotStore & { readonly rows: Map<string, Snapshot> } {
  const rows = new Map<string, Snapshot>();
  return {
    rows,
    read: async (streamId, version) => rows.get(`${streamId} ${version}`) ?? null,
    // As JSON, like in a table.
    write: async (snapshot) =>
      void rows.set(
        `${snapshot.streamId} ${snapshot.version}`,
        JSON.parse(JSON.stringify(snapshot)) as Snapshot,
      ),
  };
}

/** Another process, which remembers nothing. */
const elsewhere = (store: EventStore) => repository(store, total);

async function longStream(store: EventStore, id: string): Promise<void> {
  const { streamIdOf } = elsewhere(store);
  const events = Array.from({ length: changes }, (_, index) => ({
    id: randomUUID(),
    type: 'Added',
    data: { amount: index + 1 },
    metadata: { at, schemaVersion: 1, ...context, previousHash: null },
  }));
  const batch = 100;
  for (let first = 0; first < changes; first += batch)
    await store.append(
      streamIdOf(id),
      first === 0 ? 'noStream' : first - 1,
      events.slice(first, first + batch),
    );
}

function setUp(options: ConstructorParameters<typeof StreamStates>[0] = {}) {
  const log = new MemoryLog();
  const store = countingStore(memoryEventStore(log));
  const states = new StreamStates(options);
  return { log, store, states, totals: repository(store, total, { states }) };
}

describe('a state that is remembered', () => {
  it('costs one read of the last event, however long the stream is', async () => {
    const { store, totals } = setUp();
    await longStream(store, 'a');
    expect((await totals.load('a')).state).toEqual({ amount: sumOf(changes), count: changes });
    expect(store.counted().events).toBe(changes);
    for (let loads = 0; loads < 3; loads += 1)
      expect(await totals.load('a')).toMatchObject({
        state: { amount: sumOf(changes), count: changes },
        revision: changes - 1,
        lastEvent: { revision: changes - 1 },
      });
    expect(store.counted()).toEqual({ appends: 0, reads: 3, events: 3, pages: 0 });
  });

  it('includes new events of another process, and reads only those', async () => {
    const { store, totals } = setUp();
    for (let round = 1; round <= 5; round += 1) {
      await elsewhere(store).execute('a', add(1), context);
      await elsewhere(store).execute('a', add(1), context);
      store.counted();
      const { state } = await totals.load('a');
      expect(state.count).toBe(2 * round);
      expect(store.counted()).toMatchObject({ reads: 1, events: round === 1 ? 2 : 3 });
    }
  });

  it('is current after its own appends, also after conflicts', async () => {
    const { store, totals } = setUp();
    await totals.load('a');
    const writers = Array.from({ length: 20 }, (_, index) =>
      (index % 2 === 0 ? totals : elsewhere(store)).execute('a', add(1), context),
    );
    await Promise.all(writers);
    expect((await totals.load('a')).state).toEqual({ amount: 20, count: 20 });
    store.counted();
    await totals.execute('a', add(1), context);
    expect(store.counted()).toEqual({ appends: 1, reads: 1, events: 1, pages: 0 });
  });

  it('is read once from the beginning for concurrent callers', async () => {
    const { store, totals } = setUp();
    await longStream(store, 'a');
    const callers = 50;
    const loaded = await Promise.all(Array.from({ length: callers }, () => totals.load('a')));
    expect(new Set(loaded.map(({ state }) => state.count))).toEqual(new Set([changes]));
    expect(store.counted().events).toBeLessThan(changes + callers);
  });

  it('is forgotten when the log is another one', async () => {
    const { log, store, totals } = setUp();
    await totals.execute('a', add(1), context);
    await totals.execute('a', add(2), context);
    expect((await totals.load('a')).state.count).toBe(2);
    // An older backup, and another history after it.
    log.streams.clear();
    log.events.length = 0;
    expect((await totals.load('a')).state.count).toBe(0);
    await elsewhere(store).execute('a', add(7), context);
    expect((await totals.load('a')).state).toEqual({ amount: 7, count: 1 });
    log.streams.clear();
    log.events.length = 0;
    await elsewhere(store).execute('a', add(8), context);
    expect((await totals.load('a')).state).toEqual({ amount: 8, count: 1 });
  });
});

describe('the memory of states', () => {
  it('is bounded for each share: a large one does not evict the others', async () => {
    const { store, totals, states } = setUp({ bytesMax: 200_000, shareBytesMax: 50_000 });
    const note = 'x'.repeat(1_000);
    await totals.execute('small', add(1), context);
    await totals.load('small', 'quiet');
    for (let index = 0; index < 100; index += 1) {
      await elsewhere(store).execute(`large-${index}`, add(1, note), context);
      await totals.load(`large-${index}`, 'loud');
    }
    expect(states.size).toBeLessThan(20);
    store.counted();
    await totals.load('small', 'quiet');
    await totals.load('large-99', 'loud');
    expect(store.counted()).toMatchObject({ reads: 2, events: 2 });
  });

  it('is bounded in total: the least recently used states are evicted first', async () => {
    const { store, totals, states } = setUp({ bytesMax: 50_000, shareBytesMax: 50_000 });
    const note = 'x'.repeat(1_000);
    for (let index = 0; index < 100; index += 1) {
      await elsewhere(store).execute(`id-${index}`, add(1, note), context);
      await totals.load(`id-${index}`, `share-${index}`);
      await totals.load('id-0', 'share-0');
    }
    expect(states.size).toBeLessThan(20);
    store.counted();
    await totals.load('id-0');
    expect(store.counted()).toMatchObject({ reads: 1 });
  });

  it('stores no state that exceeds a share', async () => {
    const { store, totals, states } = setUp({ bytesMax: 1_000, shareBytesMax: 100 });
    await elsewhere(store).execute('a', add(3), context);
    expect((await totals.load('a')).state.amount).toBe(3);
    expect((await totals.load('a')).state.amount).toBe(3);
    expect(states.size).toBe(0);
  });
});

describe('a state that nobody uses', () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('is forgotten within an hour, and one in use is not', async () => {
    const { store, totals, states } = setUp();
    for (const id of ['used', 'unused', 'alone']) {
      await elsewhere(store).execute(id, add(1), context);
      await totals.load(id, id === 'alone' ? 'another' : 'same');
    }
    for (let minutes = 0; minutes < 60; minutes += 10) {
      jest.advanceTimersByTime(10 * 60_000);
      await totals.load('used');
    }
    expect(states.size).toBe(1);
    store.counted();
    await totals.load('used');
    // Its last event alone, to see whether there are more.
    expect(store.counted()).toMatchObject({ reads: 1, events: 1 });
    jest.advanceTimersByTime(60 * 60_000);
    expect(states.size).toBe(0);
    // An idle process does nothing for it.
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('a long stream that is not in memory', () => {
  /** Like a process that has just started. */
  function started(store: EventStore, snapshots: SnapshotStore) {
    const counting = countingStore(store);
    const states = new StreamStates({ snapshots });
    return { store: counting, totals: repository(counting, total, { states }) };
  }

  it('is read from its snapshot: a bounded number of events, however long it is', async () => {
    const snapshots = memorySnapshots();
    const { store, totals } = setUp({ snapshots });
    await longStream(store, 'a');
    await totals.load('a');
    for (let more = 0; more < streamPageMax - 1; more += 1)
      await totals.execute('a', add(0), context);
    const fresh = started(store, snapshots);
    const expected = { amount: sumOf(changes), count: changes + streamPageMax - 1 };
    expect((await fresh.totals.load('a')).state).toEqual(expected);
    expect(fresh.store.counted().events).toBeLessThanOrEqual(2 * streamPageMax + 1);
    expect((await elsewhere(store).load('a')).state).toEqual(expected);
  });

  it('gets a new snapshot after each page of changes', async () => {
    const snapshots = memorySnapshots();
    const { totals } = setUp({ snapshots });
    const revisions = new Set<number>();
    for (let count = 0; count < 3 * streamPageMax; count += 1) {
      await totals.execute('a', add(1), context);
      for (const { revision } of snapshots.rows.values()) revisions.add(revision);
    }
    expect([...revisions]).toEqual([1, 2, 3].map((pages) => pages * streamPageMax - 1));
  });

  it('is read as a whole when the snapshot comes from other code or another log, or is unavailable', async () => {
    const snapshots = memorySnapshots();
    const { store, totals } = setUp({ snapshots });
    await longStream(store, 'a');
    await totals.load('a');
    const [[key, snapshot] = ['', null]] = snapshots.rows;
    if (snapshot === null) throw new Error('no snapshot was written');
    const wrong = { ...snapshot, state: { amount: -1, count: -1 } };
    const expected = { amount: sumOf(changes), count: changes };

    snapshots.rows.clear();
    snapshots.rows.set(`${key}, and then some`, wrong);
    expect((await started(store, snapshots).totals.load('a')).state).toEqual(expected);
    for (const change of [{ eventId: randomUUID() }, { revision: changes + 10 }]) {
      snapshots.rows.clear();
      snapshots.rows.set(key, { ...wrong, ...change });
      expect((await started(store, snapshots).totals.load('a')).state).toEqual(expected);
    }

    const errors: unknown[] = [];
    const away = new Error('the database is away');
    const states = new StreamStates({
      snapshots: { read: () => Promise.reject(away), write: () => Promise.reject(away) },
      onSnapshotError: (error) => errors.push(error),
    });
    expect((await repository(store, total, { states }).load('a')).state).toEqual(expected);
    expect(errors).toEqual([away, away]);
  });
});
