import { until } from '@pis/local-servers/testing';
import { MemoryLog, memoryEventStore } from '../memory/memory-event-store.js';
import { type EventStore, StoreUnavailable, beginning } from '../port.js';
import { eventToAppend, follow, unique } from '../testing/conformance-kit.js';
import { eventStoreConformance } from '../testing/event-store-conformance.js';
import { type SharedLogLimits, sharedLog } from './shared-log.js';

eventStoreConformance('memory, through one reading of the log', async () => {
  const log = new MemoryLog();
  const opened: EventStore[] = [];
  const open = () => {
    const store = sharedLog(memoryEventStore(log));
    opened.push(store);
    return store;
  };
  return {
    store: open(),
    another: open,
    cutConnections: null,
    fresh: true,
    end: async () => {
      await Promise.all(opened.map((store) => store.close()));
    },
  };
});

const fact = (happened: () => boolean) => until(happened, { timeoutMs: 20_000 });

const opened: EventStore[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});

function open(below: EventStore, limits: Partial<SharedLogLimits> = {}): EventStore {
  const store = sharedLog(below, limits);
  opened.push(store);
  return store;
}

/** The cost of the subscriptions to the underlying store. */
interface Readings {
  open: number;
  events: number;
}

function observed(store: EventStore): { store: EventStore; readings: Readings } {
  const readings: Readings = { open: 0, events: 0 };
  return {
    readings,
    store: {
      ...store,
      async *subscribe(options) {
        readings.open += 1;
        try {
          for await (const page of store.subscribe(options)) {
            readings.events += page.events.length;
            yield page;
          }
        } finally {
          readings.open -= 1;
        }
      },
    },
  };
}

const append = (store: EventStore, streamId = `payment-${unique()}`) =>
  store.append(streamId, 'noStream', [eventToAppend()]);

async function appendMany(store: EventStore, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await append(store);
}

/** Drops everything after the first `count` events, like a restore of an older backup. */
function restore(log: MemoryLog, count: number): void {
  log.events.length = count;
  log.streams.clear();
  for (const event of log.events)
    log.streams.set(event.streamId, [...(log.streams.get(event.streamId) ?? []), event]);
}

describe('one reading of the log', () => {
  it('reads each event once, however many subscribers there are', async () => {
    const { store: below, readings } = observed(memoryEventStore());
    const store = open(below);
    await appendMany(store, 20);
    const after = await store.lastPosition();
    const wanted = [undefined, ['payment-'], ['payment-', 'contact-'], ['payment-'], ['contact-']];
    const followers = wanted.map((streamPrefixes) =>
      follow(store, { after, ...(streamPrefixes === undefined ? {} : { streamPrefixes }) }),
    );
    await fact(() => readings.open === 1);
    for (let count = 1; count <= 30; count += 1) {
      await append(store);
      await fact(() => followers[0]?.events.length === count);
    }
    await append(store, 'contact-1');
    await fact(() => followers.every(({ events }) => events.at(-1)?.streamId !== undefined));
    await fact(() => followers[0]?.events.length === 31);
    expect(followers.map(({ events }) => events.length)).toEqual([31, 30, 31, 30, 1]);
    expect(readings.events).toBe(31);
  });

  it('reads only the streams that a subscriber follows', async () => {
    const { store: below, readings } = observed(memoryEventStore());
    const store = open(below);
    const contacts = follow(store, { after: beginning, streamPrefixes: ['contact-'] });
    await appendMany(store, 20);
    await append(store, 'contact-1');
    await fact(() => contacts.events.length === 1);
    expect(readings.events).toBe(1);
    const payments = follow(store, { after: beginning, streamPrefixes: ['payment-'] });
    await fact(() => payments.events.length === 20);
    await append(store);
    await append(store, 'contact-2');
    await fact(() => payments.events.length === 21 && contacts.events.length === 2);
  });

  it('stops with the last subscriber, and begins again with the next', async () => {
    const { store: below, readings } = observed(memoryEventStore());
    const store = open(below);
    for (let round = 1; round <= 3; round += 1) {
      const followers = [1, 2].map(() => follow(store, { after: beginning }));
      await append(store);
      await fact(() => followers.every(({ events }) => events.length === round));
      await Promise.all(followers.map((follower) => follower.stop()));
      await fact(() => readings.open === 0);
    }
  });

  it('lets a slow subscriber catch up by itself, and join again', async () => {
    const { store: below, readings } = observed(memoryEventStore());
    const store = open(below, { eventsMax: 5 });
    const fast = follow(store, { after: beginning });
    const ending = new AbortController();
    const slow = store
      .subscribe({ after: beginning, pageMax: 4, signal: ending.signal })
      [Symbol.asyncIterator]();
    const seen: string[] = [];
    const take = async (count: number) => {
      while (seen.length < count) {
        const { value, done } = await slow.next();
        if (done === true) throw new Error('the subscription ended');
        seen.push(...value.events.map(({ id }) => id));
      }
    };
    await append(store);
    await take(1);
    await appendMany(store, 30);
    await fact(() => fast.events.length === 31);
    await take(31);
    await append(store);
    await take(32);
    await fact(() => readings.open === 1);
    await append(store);
    await take(33);
    expect(seen).toEqual(fast.events.map(({ id }) => id));
    ending.abort();
    expect(await slow.next()).toEqual({ done: true, value: undefined });
  });

  it('keeps events up to a number of bytes', async () => {
    const { store: below, readings } = observed(memoryEventStore());
    const store = open(below, { bytesMax: 10_000 });
    const fast = follow(store, { after: beginning });
    const { signal } = new AbortController();
    const slow = store.subscribe({ after: beginning, signal })[Symbol.asyncIterator]();
    const data = { text: 'x'.repeat(4_000) };
    const appendLarge = async (count: number) => {
      for (let left = count; left > 0; left -= 1)
        await store.append(`payment-${unique()}`, 'noStream', [eventToAppend(data)]);
    };
    await appendLarge(1);
    await slow.next();
    await appendLarge(2);
    await fact(() => fast.events.length === 3);
    expect((await slow.next()).value?.events).toHaveLength(2);
    expect(readings.events).toBe(3);
    await appendLarge(4);
    await fact(() => fast.events.length === 7);
    expect((await slow.next()).value?.events).toHaveLength(4);
    expect(readings.events).toBe(11);
  });

  it('continues after an event with extremely nested data', async () => {
    const memory = memoryEventStore();
    const depth = 100_000;
    const data = JSON.parse('{"a":'.repeat(depth) + '1' + '}'.repeat(depth)) as object;
    const store = open({
      ...memory,
      async *subscribe(options) {
        for await (const page of memory.subscribe(options))
          yield { ...page, events: page.events.map((event) => ({ ...event, data: { ...data } })) };
      },
    });
    const follower = follow(store, { after: beginning });
    await append(store);
    await append(store);
    await fact(() => follower.events.length === 2);
  });

  it('reports the state of the connection to each subscriber', async () => {
    const memory = memoryEventStore();
    const away = new StoreUnavailable('away');
    let report: ((failure: Error | null) => void) | undefined;
    const store = open({
      ...memory,
      subscribe: (options) => {
        report = options.onConnection;
        return memory.subscribe(options);
      },
    });
    const states: (Error | null)[][] = [[], [], []];
    const join = (index: number) =>
      follow(store, {
        after: beginning,
        onConnection: (failure) => void states[index]?.push(failure),
      });
    join(0);
    join(1);
    await fact(() => states[0]?.at(-1) === null && states[1]?.at(-1) === null);
    report?.(away);
    expect([states[0]?.at(-1), states[1]?.at(-1)]).toEqual([away, away]);
    join(2);
    await fact(() => states[2]?.at(-1) === away);
    report?.(null);
    expect(states.map((state) => state.at(-1))).toEqual([null, null, null]);
  });

  it('reports an unavailable store to subscribers, and begins when it is back', async () => {
    const memory = memoryEventStore();
    let isAway = true;
    const store = open({
      ...memory,
      lastPosition: async () => {
        if (isAway) throw new StoreUnavailable('away');
        return memory.lastPosition();
      },
    });
    const states: (Error | null)[] = [];
    const follower = follow(store, {
      after: beginning,
      onConnection: (failure) => states.push(failure),
    });
    await fact(() => states.length > 0);
    expect(states[0]).toMatchObject({ message: 'away' });
    isAway = false;
    await append(store);
    await fact(() => follower.events.length === 1);
    expect(states.at(-1)).toBeNull();
  });

  it('lets subscribers read by themselves while the end of the log is not found', async () => {
    const memory = memoryEventStore();
    const store = open({ ...memory, lastPosition: () => new Promise<never>(() => undefined) });
    await append(store);
    const follower = follow(store, { after: beginning });
    await fact(() => follower.events.length === 1);
    await append(store);
    await fact(() => follower.events.length === 2);
  });

  it('ends every subscription with the error that ends the reading for good', async () => {
    const memory = memoryEventStore();
    let isBroken = true;
    const store = open({
      ...memory,
      subscribe: (options) => {
        if (isBroken) throw new TypeError('broken');
        return memory.subscribe(options);
      },
    });
    const { signal } = new AbortController();
    const subscriptions = [1, 2].map(() =>
      store.subscribe({ after: beginning, signal })[Symbol.asyncIterator]().next(),
    );
    for (const next of subscriptions) await expect(next).rejects.toThrow('broken');
    isBroken = false;
    const next = follow(store, { after: beginning });
    await append(store);
    await fact(() => next.events.length === 1);
  });

  it('waits at a position that the log has not reached', async () => {
    const log = new MemoryLog();
    const store = open(memoryEventStore(log));
    await appendMany(store, 10);
    const after = await store.lastPosition();
    restore(log, 5);
    const others = follow(store, { after: beginning });
    const ahead = follow(store, { after });
    await appendMany(store, 5);
    await fact(() => others.events.length === 10);
    await append(store);
    await fact(() => ahead.events.length === 1);
    expect(ahead.events[0]?.id).toBe(others.events[10]?.id);
  });

  it.each([
    ['all streams', undefined, 15],
    // The kept events all still exist: only the part between them and the end has changed.
    ['streams that had no events there', ['contact-', 'originator-'], 15],
    ['streams that have changed at the end', ['contact-'], 25],
  ])(
    'does not serve what it has kept once the log was restored: %s',
    async (_, streamPrefixes, regrown) => {
      const log = new MemoryLog();
      const store = open(memoryEventStore(log));
      const wanted = streamPrefixes === undefined ? {} : { streamPrefixes };
      const others = follow(store, { after: beginning, ...wanted });
      await append(store, 'contact-1');
      await appendMany(store, 19);
      await fact(() => others.pages.at(-1)?.position === log.events[19]?.position);
      restore(log, 10);
      for (let count = 11; count <= regrown; count += 1) await append(store, `contact-${count}`);
      // As if an operator had moved its checkpoint back.
      const moved = follow(store, { after: log.events[9]?.position ?? '', ...wanted });
      await fact(() => moved.events.length === regrown - 10);
      expect(moved.events).toEqual(log.events.slice(10));
    },
  );

  it('a wrong end of the log holds up no subscriber', async () => {
    const below = memoryEventStore();
    await appendMany(below, 3);
    const after = await below.lastPosition();
    const store = open(
      {
        ...below,
        lastPosition: () => Promise.resolve(beginning),
        // From there it would take long.
        subscribe: (options) =>
          options.after === beginning ? endless(options.signal) : below.subscribe(options),
      },
      { behindMaxMs: 10 },
    );
    const follower = follow(store, { after });
    for (let count = 1; count <= 3; count += 1) {
      await append(below);
      await fact(() => follower.events.length === count);
    }
    await follower.stop();
  });
});

async function* endless(signal: AbortSignal): AsyncGenerator<never> {
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
