/**
 * Computes past events from their streams, exactly as they were for the broker. An envelope made from one has
 * the same bytes as the original one.
 */
import { topics, type WebhookIntegrationEvent } from '@pis/contracts';
import {
  type EventStore,
  type RecordedEvent,
  StoreUnavailable,
  UnreadableEvent,
} from '@pis/event-store';
import { skippedAmong } from '@pis/read-models';
import type pg from 'pg';
import { publicEventOf } from './integration-message.js';
import { publicFactsOf, type Step } from './public-facts.js';

export interface PastEventRef {
  readonly streamId: string;
  readonly eventId: string;
}

/**
 * In the order of `refs`. Skips the events that an operator skipped, as the relay did.
 * @param pool the database with the skipped events
 * @throws StoreUnavailable also when a replica of the store does not have the event yet
 * @throws UnreadableEvent when a newer release wrote one of them, or one before it
 */
export async function pastWebhookEvents(
  store: EventStore,
  pool: pg.Pool,
  refs: readonly PastEventRef[],
): Promise<WebhookIntegrationEvent[]> {
  const streamIds = [...new Set(refs.map(({ streamId }) => streamId))];
  if (streamIds.length === 0) return [];
  const wanted = new Set(refs.map(({ eventId }) => eventId));
  const streams = await store.readStreams(streamIds);
  const skipped = new Set<string>();
  const found = new Map<string, WebhookIntegrationEvent>();
  for (const events of streams)
    for (const event of await unlessSkipped(pool, skipped, () => eventsIn(events, wanted, skipped)))
      found.set(event.eventId, event);
  return refs.map(({ streamId, eventId }) => {
    const event = found.get(eventId);
    if (event === undefined) throw new StoreUnavailable(`${streamId} lags behind the index`);
    return event;
  });
}

/** Repeats the fold without an unreadable event if that event was skipped. @throws UnreadableEvent */
async function unlessSkipped<Result>(
  pool: pg.Pool,
  skipped: Set<string>,
  fold: () => Result,
): Promise<Result> {
  for (;;) {
    try {
      return fold();
    } catch (error) {
      if (!(error instanceof UnreadableEvent)) throw error;
      const { id } = error.event;
      if (skipped.has(id) || (await skippedAmong(pool, [id])).size === 0) throw error;
      skipped.add(id);
    }
  }
}

/** Ignores everything after the last wanted event. */
function eventsIn(
  stream: readonly RecordedEvent[],
  wanted: ReadonlySet<string>,
  skipped: ReadonlySet<string>,
): WebhookIntegrationEvent[] {
  const last = stream.findLastIndex(({ id }) => wanted.has(id));
  const [first] = stream;
  const facts = first === undefined ? null : publicFactsOf(first.streamId);
  if (facts === null) return [];
  const { fold } = facts;
  let before = fold([]);
  return stream.slice(0, last + 1).flatMap((event) => {
    if (skipped.has(event.id)) return [];
    const after = fold([event], before);
    const step: Step = { before, after };
    before = after;
    return wanted.has(event.id) ? [webhookEventOf(event, step)] : [];
  });
}

/** The event as consumers received it. */
function webhookEventOf(recorded: RecordedEvent, step: Step): WebhookIntegrationEvent {
  const content = publicEventOf(recorded, step);
  if (content === null || content.topic === topics.directory)
    throw new Error(`event ${recorded.id} is not an event that becomes a webhook`);
  return content.event;
}
