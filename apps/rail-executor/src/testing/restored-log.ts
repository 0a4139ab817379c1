/** Logs that were restored from an older backup than the records of the connections to the banks. */
import { type EventStore, memoryEventStore, type RecordedEvent } from '@pis/event-store';
import type { PaymentRail } from '@pis/domain';
import { until } from '@pis/local-servers/testing';
import type { RailExecutor } from '../rail-executor.js';
import type { Formats } from './formats.js';
import { type QueuedMessage, settle, type World } from './world.js';

export const handle = (executor: RailExecutor, { value, delivery }: QueuedMessage) =>
  executor.handle(value, delivery);

/** A transfer that has ended at its bank. Its row is deleted. */
export async function ended(
  world: World,
  formats: Formats,
  rail: PaymentRail,
  ending = '4321',
): Promise<QueuedMessage> {
  const message = await world.queue(ending, 'OUTBOUND', rail);
  const executor = world.executor({ banks: formats.banks });
  await handle(executor, message);
  await formats.exchangeFiles();
  await settle(executor);
  // Rows of completed payments are deleted soon, together.
  await until(async () => (await world.pending(message.paymentId)) === null, { timeoutMs: 60_000 });
  return message;
}

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
