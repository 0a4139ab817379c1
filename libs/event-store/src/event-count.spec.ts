import { randomUUID } from 'node:crypto';
import { countEvents } from './event-count.js';
import { memoryEventStore } from './memory/memory-event-store.js';
import { beginning, type EventStore } from './port.js';
import { shortSightedStore } from './testing/short-sighted-store.js';

const metadata = {
  ...{ at: '2026-11-22T09:00:00.000Z', actor: 'system:test', schemaVersion: 1, correlationId: 'c' },
  ...{ requestId: null, causationId: null, traceparent: null, previousHash: null },
};

async function append(store: EventStore, streamPrefix: string, count: number): Promise<void> {
  const events = Array.from({ length: count }, () => ({
    ...{ id: randomUUID(), type: 'Counted', data: {} },
    metadata,
  }));
  await store.append(`${streamPrefix}${randomUUID()}`, 'noStream', events);
}

async function logOf(...counts: readonly number[]): Promise<EventStore> {
  const store = memoryEventStore();
  for (const [index, count] of counts.entries())
    await append(store, index % 2 === 0 ? 'foreign-' : 'own-', count);
  return shortSightedStore(store);
}

const own = { after: beginning, streamPrefixes: ['own-'] };

it('events behind pages without any are counted', async () => {
  const store = await logOf(20, 3, 20, 2, 20);
  expect(await countEvents(store, { ...own, max: 100 })).toBe(5);
  expect(await countEvents(store, { after: beginning, max: 100 })).toBe(65);
});

it('a count ends at its maximum and at the end of the log', async () => {
  const store = await logOf(2, 3);
  expect(await countEvents(store, { ...own, max: 2 })).toBe(2);
  expect(await countEvents(store, { ...own, max: 3 })).toBe(3);
  const after = await store.lastPosition();
  expect(await countEvents(store, { ...own, after, max: 3 })).toBe(0);
});

it('a count that does not reach the end of the log is never 0', async () => {
  const store = await logOf(20, 3);
  expect(await countEvents(store, { ...own, max: 9, pagesMax: 5 })).toBe(1);
  expect(await countEvents(store, { ...own, max: 9, pagesMax: 22 })).toBe(2);
  const foreign = await logOf(4);
  expect(await countEvents(foreign, { ...own, max: 9, pagesMax: 5 })).toBe(0);
});
