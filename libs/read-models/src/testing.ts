/** For specs: domain events on their way into a store, without commands, and a whole small history. */
import { randomUUID } from 'node:crypto';
import type { DomainEvent, PaymentDetails } from '@pis/domain';
import { paymentEvents, paymentExample } from '@pis/domain/testing';
import type {
  AppendResult,
  EventStore,
  EventToAppend,
  JsonObject,
  RecordedEvent,
} from '@pis/event-store';

export function eventToAppend({ type, at, data }: DomainEvent): EventToAppend {
  return {
    id: randomUUID(),
    type,
    data: data as JsonObject,
    metadata: {
      at,
      schemaVersion: 1,
      actor: 'system:test',
      requestId: null,
      correlationId: randomUUID(),
      causationId: null,
      traceparent: null,
      previousHash: null,
    },
  };
}

/** The events as a store would return them, the first at `revision`. */
export function recordedEvents(
  streamId: string,
  events: readonly DomainEvent[],
  revision = 0,
): readonly RecordedEvent[] {
  return events.map((event, index) => ({
    ...eventToAppend(event),
    streamId,
    revision: revision + index,
    position: String(revision + index + 1).padStart(20, '0'),
  }));
}

/** Appends at the current end of the stream. For one writer per stream. */
export async function appendEvents(
  store: EventStore,
  streamId: string,
  events: readonly DomainEvent[],
): Promise<AppendResult> {
  const [last] = await store.readStream(streamId, { direction: 'backwards', maxCount: 1 });
  return store.append(streamId, last?.revision ?? 'noStream', events.map(eventToAppend));
}

export interface TestPayment {
  readonly paymentId: string;
  readonly streamId: string;
}

/** Appends a payment that is QUEUED since `at`, with an id of its own. */
export async function queuePayment(
  store: EventStore,
  at: string,
  overrides: Partial<PaymentDetails> = {},
): Promise<TestPayment & AppendResult> {
  const paymentId = overrides.paymentId ?? randomUUID();
  const streamId = `payment-${paymentId}`;
  const data = paymentExample({ ...overrides, paymentId });
  const appended = await store.append(streamId, 'noStream', [
    eventToAppend({ type: 'PaymentQueued', at, data }),
  ]);
  return { paymentId, streamId, ...appended };
}

/** From QUEUED to COMPLETED. */
export function completePayment(
  store: EventStore,
  { streamId }: TestPayment,
): Promise<AppendResult> {
  return appendEvents(store, streamId, [paymentEvents.processing, paymentEvents.completed]);
}
