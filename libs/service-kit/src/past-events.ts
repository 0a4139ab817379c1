/**
 * What past events said, computed from their streams as it was for the broker: an envelope made of it
 * has the very bytes of the one that was sent at the time.
 */
import { type PaymentIntegrationEvent, paymentIntegrationEventSchema } from '@pis/contracts';
import { payment } from '@pis/domain';
import {
  type EventStore,
  type Loaded,
  type RecordedEvent,
  repository,
  StoreUnavailable,
} from '@pis/event-store';
import { messageOf } from './integration-message.js';

export interface PastEventRef {
  readonly streamId: string;
  readonly eventId: string;
}

/**
 * In the order asked for.
 * @throws StoreUnavailable also when a replica of the store does not have the event yet
 */
export async function pastPaymentEvents(
  store: EventStore,
  refs: readonly PastEventRef[],
): Promise<PaymentIntegrationEvent[]> {
  const streamIds = [...new Set(refs.map(({ streamId }) => streamId))];
  if (streamIds.length === 0) return [];
  const wanted = new Set(refs.map(({ eventId }) => eventId));
  const streams = await store.readStreams(streamIds);
  const found = new Map(
    streams.flatMap((events) => eventsIn(store, events, wanted)).map((e) => [e.eventId, e]),
  );
  return refs.map(({ streamId, eventId }) => {
    const event = found.get(eventId);
    if (event === undefined) throw new StoreUnavailable(`${streamId} lags behind the index`);
    return event;
  });
}

function eventsIn(
  store: EventStore,
  stream: readonly RecordedEvent[],
  wanted: ReadonlySet<string>,
): PaymentIntegrationEvent[] {
  const { fold } = repository(store, payment);
  let before = fold([]);
  return stream.flatMap((event) => {
    const after = fold([event], before);
    const step: { before: Loaded<unknown>; after: Loaded<unknown> } = { before, after };
    before = after;
    return wanted.has(event.id) ? [integrationEventOf(event, step)] : [];
  });
}

/** As a consumer gets it: through the message's JSON and the consumer's schema. */
function integrationEventOf(
  event: RecordedEvent,
  step: Parameters<typeof messageOf>[1],
): PaymentIntegrationEvent {
  const message = messageOf(event, step);
  if (message === 'none') throw new Error(`event ${event.id} is nobody else's business`);
  return paymentIntegrationEventSchema.parse(JSON.parse(String(message.value)));
}
