/** Logs that were restored from an older backup than the records of the connections to the banks. */
import { type EventStore, memoryEventStore, type RecordedEvent } from '@pis/event-store';
import type { QueuedMessage, World } from './world.js';

/** A log in which it is queued with these data. */
export async function restoredWith(
  world: World,
  { paymentId }: QueuedMessage,
  changes: Readonly<Record<string, unknown>>,
): Promise<EventStore> {
  const store = memoryEventStore();
  const queued = await queuedEvent(world, paymentId);
  const data = { ...queued.data, ...changes };
  await store.append(world.streamIdOf(paymentId), 'noStream', [{ ...queued, data }]);
  return store;
}

/** A log in which it is queued for the contact of another payment. */
export async function restoredFor(
  world: World,
  message: QueuedMessage,
  other: QueuedMessage,
): Promise<EventStore> {
  const { data } = await queuedEvent(world, other.paymentId);
  return restoredWith(world, message, { contact: data['contact'] });
}

async function queuedEvent(world: World, paymentId: string): Promise<RecordedEvent> {
  const [queued] = await world.store.readStream(world.streamIdOf(paymentId));
  if (queued === undefined) throw new Error('it was not queued');
  return queued;
}

/** The types of its events in this log, without the prefix. */
export async function historyIn(
  world: World,
  store: EventStore,
  { paymentId }: QueuedMessage,
): Promise<string[]> {
  const events = await store.readStream(world.streamIdOf(paymentId));
  return events.map(({ type }) => type.replace(/^Payment/, ''));
}
