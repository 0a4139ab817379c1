/**
 * The part of `pis audit verify` that computes every webhook's body from the log again and compares it with the hash that
 * was kept when it was fanned out, and the bodies that are still stored with the same hash. One page at a time.
 */
import { type EventStore, UnreadableEvent } from '@pis/event-store';
import { type PastEventRef, pastWebhookEvents } from '@pis/integration';
import type { ReadModelDifference } from '@pis/read-models';
import {
  bodyHashOf,
  eventsWithoutHash,
  firstHashPlace,
  type HashedEvent,
  hashedEvents,
  hashesWithoutEvent,
  type HashPlace,
  type StoredBody,
  storedBodyPages,
} from '@pis/webhook-deliveries';
import { paymentEnvelope, type WebhookEnvelope } from '@pis/webhooks';
import type pg from 'pg';

export interface WebhookBodiesReport {
  /** Events whose bodies were computed again and compared with their hash. */
  readonly compared: number;
  /** Bodies that are still stored and were compared with the hash of their event. */
  readonly stored: number;
  /** Events whose hash is of a body with other fields, by another release: not compared. */
  readonly ofOtherShape: number;
}

export interface WebhookBodiesOptions {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly onDifference: (difference: ReadModelDifference) => void;
  readonly onPage: (events: number) => void;
}

const pageMax = 200;
/** Each of these kinds is counted so far: more of it tells nothing new. */
const missingMax = 100;

/** @throws StoreUnavailable */
export async function auditWebhookBodies(
  options: WebhookBodiesOptions,
): Promise<WebhookBodiesReport> {
  const { pool } = options;
  const of = (table: string, differs: string) => (row: string) =>
    options.onDifference({ table, row, column: null, differs });
  let [compared, ofOtherShape] = [0, 0];
  for (let place: HashPlace | null = firstHashPlace; place !== null; ) {
    const { events, next }: Awaited<ReturnType<typeof hashedEvents>> = await hashedEvents(
      pool,
      place,
      pageMax,
    );
    ofOtherShape += events.filter(({ isOfOtherShape }) => isOfOtherShape).length;
    compared += await comparePage(options, events);
    options.onPage(compared);
    place = next;
  }
  const stored = await compareStored(options);
  const missing = await eventsWithoutHash(pool, missingMax);
  missing.forEach(of('webhook_body_hashes', 'the hash of a webhook body is missing'));
  const unknown = await hashesWithoutEvent(pool, missingMax);
  unknown.forEach(of('webhook_body_hashes', 'the log has no event for this webhook body'));
  return { compared, stored, ofOtherShape };
}

/** @returns how many were compared */
async function comparePage(
  { store, pool, onDifference }: WebhookBodiesOptions,
  events: readonly HashedEvent[],
): Promise<number> {
  const hashed = events.filter(({ hash }) => hash !== null);
  const bodies = await hashesOf(store, pool, hashed);
  for (const { eventId, hash } of hashed) {
    const now = bodies.get(eventId);
    if (now === hash) continue;
    const differs =
      now === undefined
        ? 'the webhook body cannot be computed: the log has an event that cannot be read'
        : 'the webhook body is not the one that the log gives';
    onDifference({ table: 'webhook_body_hashes', row: eventId, column: null, differs });
  }
  return hashed.length;
}

/** By event, without those of streams that cannot be read. */
async function hashesOf(
  store: EventStore,
  pool: pg.Pool,
  refs: readonly PastEventRef[],
): Promise<ReadonlyMap<string, string>> {
  try {
    const events = await pastWebhookEvents(store, pool, refs);
    return new Map(events.map((event) => [event.eventId, bodyHashOf(paymentEnvelope(event))]));
  } catch (error) {
    if (!(error instanceof UnreadableEvent)) throw error;
    const streams = Map.groupBy(refs, ({ streamId }) => streamId);
    // A stream of its own: this event is the one, or follows the one, that cannot be read.
    if (streams.size <= 1 && refs.length <= 1) return new Map();
    const parts = streams.size > 1 ? [...streams.values()] : refs.map((ref) => [ref]);
    const found: (readonly [string, string])[] = [];
    for (const part of parts) found.push(...(await hashesOf(store, pool, part)));
    return new Map(found);
  }
}

/** @returns how many were compared */
async function compareStored({ pool, onDifference }: WebhookBodiesOptions): Promise<number> {
  let compared = 0;
  for await (const page of storedBodyPages(pool, pageMax))
    for (const stored of page) {
      if (stored.hash === null) continue;
      compared += 1;
      if (hashOfStored(stored) === stored.hash) continue;
      const differs = 'the stored webhook body is not the one that was hashed';
      onDifference({ table: stored.table, row: stored.id, column: 'body', differs });
    }
  return compared;
}

/** Null for what is no envelope. */
function hashOfStored({ body }: StoredBody): string | null {
  try {
    return bodyHashOf(JSON.parse(body) as WebhookEnvelope);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return null;
    throw error;
  }
}
