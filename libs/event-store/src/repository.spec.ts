import type { Aggregate, DomainCommand, DomainEvent } from '@pis/domain';
import { pause } from '@pis/postgres';
import type { CommandContext } from './command-context.js';
import { conflictTriesMax } from './conflicts.js';
import { hashOfEvent } from './event-hash.js';
import { memoryEventStore } from './memory/memory-event-store.js';
import {
  type AppendResult,
  type EventStore,
  StoreUnavailable,
  WrongExpectedRevision,
} from './port.js';
import { UnreadableEvent } from './readable.js';
import { repository } from './repository.js';

type Event = DomainEvent<'Opened' | 'Added', { readonly amount: number }>;
type Command = DomainCommand<'Open' | 'Add' | 'AddTwice', { readonly amount: number }>;
type Total = { readonly amount: number; readonly at: string } | null;
type Code = 'ALREADY_OPEN' | 'NOT_OPEN';

/** As small as an aggregate can be: opened once, then added to; adding 0 does nothing. */
const total: Aggregate<Total, Command, Event, Code, 'total'> = {
  category: 'total',
  initial: null,
  decide({ type, at, data }, state) {
    if (type === 'Open')
      return state === null ? [{ type: 'Opened', at, data }] : { refused: 'ALREADY_OPEN' };
    if (state === null) return { refused: 'NOT_OPEN' };
    const added: Event = { type: 'Added', at, data };
    return data.amount === 0 ? [] : type === 'Add' ? [added] : [added, added];
  },
  evolve: (state, { at, data }) => ({ amount: (state?.amount ?? 0) + data.amount, at }),
  schemaVersions: { Opened: 2, Added: 1 },
  upcast: (type, schemaVersion, data) =>
    type === 'Opened' && schemaVersion === 1 ? { amount: (data as { sum: number }).sum } : data,
};

const at = '2026-03-01T12:00:00.000Z';
const open: Command = { type: 'Open', at, data: { amount: 1 } };
const add = (amount: number): Command => ({ type: 'Add', at, data: { amount } });
const context: CommandContext = {
  actor: 'apiKey:1',
  requestId: 'request-1',
  correlationId: 'correlation-1',
  causationId: null,
  traceparent: null,
};

/** A store whose appends go through `around` first. */
function intercepted(
  store: EventStore,
  around: (append: () => Promise<AppendResult>, tries: number) => Promise<AppendResult>,
): EventStore {
  let tries = 0;
  return {
    ...store,
    append: (...given) => around(() => store.append(...given), (tries += 1)),
  };
}

describe('an event that this build does not know', () => {
  const written = { ...context, previousHash: null, at, schemaVersion: 1 };
  it.each([
    ['of a newer type', { type: 'Closed', metadata: written }, /Closed: unknown type/],
    [
      'of a newer schema version',
      { type: 'Added', metadata: { ...written, schemaVersion: 2 } },
      /schema version 2, this build knows 1/,
    ],
  ])('%s is refused: no command is decided on that stream', async (_what, event, reason) => {
    const store = memoryEventStore();
    const totals = repository(store, total);
    await totals.execute('1', open, context);
    await store.append('total-1', 0, [
      { id: '00000000-0000-4000-8000-000000000001', data: { amount: 5 }, ...event },
    ]);
    await expect(totals.load('1')).rejects.toThrow(reason);
    await expect(totals.execute('1', add(1), context)).rejects.toThrow(UnreadableEvent);
    await expect(totals.create('1', open, context)).rejects.toThrow(UnreadableEvent);
    expect(await store.readStream('total-1')).toHaveLength(2);
  });
});

describe('the repository', () => {
  it('loads, decides and appends, and returns the state and the new events', async () => {
    const store = memoryEventStore();
    const totals = repository(store, total);
    const created = await totals.create('1', open, context);
    const executed = await totals.execute('1', add(2), context);
    expect(created).toMatchObject({ state: { amount: 1 }, revision: 0 });
    expect(executed).toMatchObject({ state: { amount: 3, at }, revision: 1 });
    const recorded = await store.readStream('total-1');
    expect([created, executed]).toMatchObject([
      { events: recorded.slice(0, 1), position: recorded[0]?.position },
      { events: recorded.slice(1), position: recorded[1]?.position },
    ]);
    expect(await totals.load('1')).toEqual({
      state: { amount: 3, at },
      revision: 1,
      lastEvent: recorded[1],
    });
  });

  it('records the actor, the cause and the version, and chains each event to the previous one', async () => {
    const store = memoryEventStore();
    const totals = repository(store, total);
    await totals.create('1', open, context);
    await totals.execute('1', { type: 'AddTwice', at, data: { amount: 2 } }, context);
    const recorded = await store.readStream('total-1');
    const hashes = recorded.map(hashOfEvent);
    expect(recorded[0]?.metadata).toEqual({ ...context, at, schemaVersion: 2, previousHash: null });
    expect(recorded[0]?.data).toEqual({ amount: 1 });
    expect(recorded.map(({ metadata }) => metadata.previousHash)).toEqual([
      null,
      hashes[0],
      hashes[1],
    ]);
  });

  it('returns the true position of each of several events', async () => {
    const store = memoryEventStore();
    const totals = repository(store, total);
    await totals.create('1', open, context);
    const twice = await totals.execute('1', { type: 'AddTwice', at, data: { amount: 2 } }, context);
    const recorded = await store.readStream('total-1', { from: 1 });
    expect(twice).toMatchObject({ state: { amount: 5 }, revision: 2, events: recorded });
  });

  describe('recording several commands', () => {
    it('appends all of them at once and evolves each event once', async () => {
      const store = memoryEventStore();
      let evolved = 0;
      const counted = {
        ...total,
        evolve: (state: Total, event: Event) => {
          evolved += 1;
          return total.evolve(state, event);
        },
      };
      const totals = repository(store, counted);
      const recorded = await totals.record('1', await totals.load('1'), [open, add(2)], context);
      expect(evolved).toBe(2);
      const [opened, added] = await store.readStream('total-1');
      expect(recorded).toMatchObject({
        state: { amount: 3 },
        revision: 1,
        lastEvent: added,
        events: [opened, added],
      });
    });

    it('appends none when one is refused, and nothing for no command', async () => {
      const store = memoryEventStore();
      const totals = repository(store, total);
      const nothing = await totals.load('1');
      expect(await totals.record('1', nothing, [open, open], context)).toEqual({
        refused: 'ALREADY_OPEN',
      });
      expect(await totals.record('1', nothing, [], context)).toMatchObject(nothing);
      expect(await store.readStream('total-1')).toEqual([]);
    });

    it('does not retry when another writer was first', async () => {
      const totals = repository(memoryEventStore(), total);
      const before = await totals.load('1');
      await totals.create('1', open, context);
      await expect(totals.record('1', before, [open], context)).rejects.toBeInstanceOf(
        WrongExpectedRevision,
      );
    });
  });

  it('returns a refusal as a value, and no event when there is nothing to do', async () => {
    const totals = repository(memoryEventStore(), total);
    expect(await totals.execute('1', add(1), context)).toEqual({ refused: 'NOT_OPEN' });
    await totals.create('1', open, context);
    expect(await totals.execute('1', add(0), context)).toEqual({
      state: { amount: 1, at },
      revision: 0,
      lastEvent: expect.objectContaining({ type: 'Opened' }),
      events: [],
      position: null,
    });
  });

  it('lets the aggregate itself refuse what exists already', async () => {
    const totals = repository(memoryEventStore(), total);
    const outcomes = await Promise.all([1, 2, 3].map(() => totals.create('1', open, context)));
    expect(outcomes.filter((outcome) => 'refused' in outcome)).toEqual([
      { refused: 'ALREADY_OPEN' },
      { refused: 'ALREADY_OPEN' },
    ]);
  });

  it('executes all of several concurrent commands', async () => {
    const totals = repository(memoryEventStore(), total);
    await totals.create('1', open, context);
    const outcomes = [1, 2, 3, 4].map((amount) => totals.execute('1', add(amount), context));
    for (const outcome of await Promise.all(outcomes)) expect(outcome).toHaveProperty('events');
    expect((await totals.load('1')).state?.amount).toBe(11);
  });

  it('executes all of many concurrent commands, however long each append takes', async () => {
    const store = memoryEventStore();
    const totals = repository(store, total);
    await totals.create('1', open, context);
    // Ten tries, pauses included, take less than 400 ms: time for 40 appends after one another.
    const slow = intercepted(store, async (append) => {
      await pause(10);
      return append();
    });
    const crowd = Array.from({ length: 60 }, () =>
      // Each of them like a separate request: the queue belongs to the store.
      repository(slow, total).execute('1', add(1), context),
    );
    await Promise.all(crowd);
    expect((await totals.load('1')).state?.amount).toBe(61);
  });

  it('gives up when other writers are always first', async () => {
    let tries = 0;
    const store = intercepted(memoryEventStore(), async (_append, count) => {
      tries = count;
      throw new WrongExpectedRevision('total-1', 'noStream', 0);
    });
    const executed = repository(store, total).execute('1', open, context);
    await expect(executed).rejects.toBeInstanceOf(WrongExpectedRevision);
    expect(tries).toBe(conflictTriesMax);
  });

  it('writes an event once although the answer to its append was lost', async () => {
    const store = memoryEventStore();
    const losing = intercepted(store, async (append, tries) => {
      const appended = await append();
      if (tries % 2 === 1) throw new StoreUnavailable('the answer was lost');
      return appended;
    });
    const totals = repository(losing, total);
    expect(await totals.create('1', open, context)).toMatchObject({ state: { amount: 1 } });
    expect(await totals.execute('1', add(2), context)).toMatchObject({ state: { amount: 3 } });
    expect(await store.readStream('total-1')).toHaveLength(2);
  });

  it('does not wait forever for an unavailable store', async () => {
    const away = intercepted(memoryEventStore(), async () => {
      throw new StoreUnavailable('away');
    });
    const created = repository(away, total).create('1', open, context);
    await expect(created).rejects.toBeInstanceOf(StoreUnavailable);
  });

  it('treats an append that is repeated with the same IDs as done', async () => {
    const store = memoryEventStore();
    const totals = repository(store, total);
    const loaded = await totals.load('1');
    const events: Event[] = [{ type: 'Opened', at, data: { amount: 1 } }];
    const eventIds = ['0b9d6b0e-6f0e-4c57-9f8e-3a0f6c1d2e3f'];
    const once = await totals.append('1', loaded, events, context, { eventIds });
    const again = await totals.append('1', loaded, events, context, { eventIds });
    expect(again).toEqual(once);
    expect(once).toMatchObject({
      state: { amount: 1 },
      revision: 0,
      lastEvent: { id: eventIds[0] },
    });
    expect(await store.readStream('total-1')).toHaveLength(1);
    const other = totals.append('1', loaded, events, context);
    await expect(other).rejects.toBeInstanceOf(WrongExpectedRevision);
  });

  it('brings events of an older schema version up to date', async () => {
    const store = memoryEventStore();
    const totals = repository(store, total);
    const metadata = { ...context, at, schemaVersion: 1, previousHash: null };
    const old = { id: '0b9d6b0e-6f0e-4c57-9f8e-3a0f6c1d2e3f', type: 'Opened', metadata };
    await store.append('total-1', 'noStream', [{ ...old, data: { sum: 7 } }]);
    expect((await totals.load('1')).state).toEqual({ amount: 7, at });
  });
});

describe('a state as of a time', () => {
  const times = ['12:00:00.000', '12:00:00.005', '12:00:00.003', '12:00:01.000'];
  const at = (time: string) => `2026-03-01T${time}Z`;
  const totals = repository(memoryEventStore(), total);
  beforeAll(async () => {
    for (const [index, time] of times.entries()) {
      const command: Command = { ...(index === 0 ? open : add(10 ** index)), at: at(time) };
      await totals.execute('1', command, context);
    }
  });

  it.each([
    ['11:59:59.999', null],
    ['12:00:00.000', 1],
    ['12:00:00.004', 1],
    ['12:00:00.005', 111],
    ['12:00:00.999', 111],
    ['12:00:01.000', 1111],
  ])('has at %s the events up to the first later one', async (time, amount) => {
    const { state, revision } = await totals.loadAsOf('1', at(time));
    expect(state?.amount ?? null).toBe(amount);
    expect(revision).toBe(amount === null ? 'noStream' : String(amount).length - 1);
  });

  it('reads no more of a long stream than it needs', async () => {
    const store = memoryEventStore();
    const long = repository(store, total);
    for (let count = 0; count < 450; count += 1) {
      const time = at(count < 230 ? '12:00:00.000' : '13:00:00.000');
      await long.execute('long', { ...(count === 0 ? open : add(1)), at: time }, context);
    }
    const reads: unknown[] = [];
    const watched: EventStore = {
      ...store,
      readStream: (streamId, options) => {
        reads.push(options?.from);
        return store.readStream(streamId, options);
      },
    };
    const { state } = await repository(watched, total).loadAsOf('long', at('12:30:00.000'));
    expect(state?.amount).toBe(230);
    expect(reads).toEqual([0, 50, 100, 150, 200]);
  });
});
