import { memoryEventStore } from './memory/memory-event-store.js';
import { type EventStore, StoreUnavailable } from './port.js';
import { eventStoreConformance } from './testing/event-store-conformance.js';
import { eventToAppend } from './testing/conformance-kit.js';
import { MemoryLog } from './memory/memory-event-store.js';
import { TimeLimit, timeLimited, withTimeLimit } from './time-limit.js';

eventStoreConformance('memory, with a time limit', async () => {
  const log = new MemoryLog();
  return {
    store: timeLimited(memoryEventStore(log)),
    another: () => timeLimited(memoryEventStore(log)),
    cutConnections: null,
    fresh: true,
    end: async () => undefined,
  };
});

it('a call in flight at the time limit is not awaited, and none begins after the limit', async () => {
  const memory = memoryEventStore();
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const appends: Promise<unknown>[] = [];
  const append: EventStore['append'] = async (...append) => {
    reached.resolve();
    await released.promise;
    return memory.append(...append);
  };
  const store = timeLimited({
    ...memory,
    append: (...args) => {
      const appended = append(...args);
      appends.push(appended);
      return appended;
    },
  });
  const over = new TimeLimit();
  const request = withTimeLimit(over, async () => {
    await expect(store.append('a-1', 'noStream', [eventToAppend()])).rejects.toBeInstanceOf(
      StoreUnavailable,
    );
    await store.append('a-2', 'noStream', [eventToAppend()]);
  });
  await reached.promise;
  over.end();
  await expect(request).rejects.toBeInstanceOf(StoreUnavailable);
  released.resolve();
  await Promise.all(appends);
  // Only the call that was sent had an effect.
  expect(await store.readStreams(['a-1', 'a-2'])).toMatchObject([[{ revision: 0 }], []]);
});
