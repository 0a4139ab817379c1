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

/** An event of a stream as it was for consumers, or where in the stream it cannot be computed, and why. */
export type PastEvent =
  | { readonly event: WebhookIntegrationEvent }
  | { readonly failedAt: RecordedEvent; readonly error: unknown };

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
  const found = new Map<string, PastEvent>();
  for (const stream of await store.readStreams(streamIds))
    for (const [eventId, past] of await pastEventsIn(pool, stream, wanted))
      found.set(eventId, past);
  return refs.map(({ streamId, eventId }) => {
    const past = found.get(eventId);
    if (past === undefined) throw new StoreUnavailable(`${streamId} lags behind the index`);
    if ('event' in past) return past.event;
    throw past.error;
  });
}

/**
 * Those of the wanted events that the stream has, by ID. An event that does not fit the stream also fails all wanted
 * events after it. Ignores everything after the last wanted event.
 * @param pool the database with the skipped events
 * @param stream from its first event on
 * @throws connection errors of PostgreSQL
 */
export async function pastEventsIn(
  pool: pg.Pool,
  stream: readonly RecordedEvent[],
  wanted: ReadonlySet<string>,
): Promise<ReadonlyMap<string, PastEvent>> {
  const found = new Map<string, PastEvent>();
  const last = stream.findLastIndex(({ id }) => wanted.has(id));
  const [first] = stream;
  const facts = first === undefined ? null : publicFactsOf(first.streamId);
  if (facts === null) return found;
  const upToLast = stream.slice(0, last + 1);
  let before = facts.fold([]);
  for (const [index, recorded] of upToLast.entries())
    try {
      const after = facts.fold([recorded], before);
      if (wanted.has(recorded.id)) found.set(recorded.id, pastEventOf(recorded, { before, after }));
      before = after;
    } catch (error) {
      if (await wasSkipped(pool, error)) continue;
      for (const { id } of upToLast.slice(index))
        if (wanted.has(id)) found.set(id, { failedAt: recorded, error });
      break;
    }
  return found;
}

/** Whether it is the error of an unreadable event that an operator skipped. */
async function wasSkipped(pool: pg.Pool, error: unknown): Promise<boolean> {
  if (!(error instanceof UnreadableEvent)) return false;
  return (await skippedAmong(pool, [error.event.id])).size > 0;
}

function pastEventOf(recorded: RecordedEvent, step: Step): PastEvent {
  try {
    return { event: webhookEventOf(recorded, step) };
  } catch (error) {
    return { failedAt: recorded, error };
  }
}

/** The event as consumers received it. */
function webhookEventOf(recorded: RecordedEvent, step: Step): WebhookIntegrationEvent {
  const content = publicEventOf(recorded, step);
  if (content === null || content.topic === topics.directory)
    throw new Error(`event ${recorded.id} is not an event that becomes a webhook`);
  return content.event;
}
