/**
 * Sends deliveries again: on request, or in a replay. What always holds:
 *
 * - A delivery keeps its id and its body, also when the day of its event is dropped later.
 * - A pending delivery is due at once. A delivery that is leased is due as soon as its attempt fails.
 * - A finished delivery is pending again.
 * - The window ends when a new one would, or later.
 * - All changes are part of one transaction of the caller, if it has one.
 * - Dispatchers are woken for a delivery that was requested. A replay has a dispatcher of its own.
 */
import { streamIdOf } from '@pis/domain';
import { workChannel, type WorkKind } from '@pis/postgres';
import {
  type EnvelopeSource,
  paymentEnvelope,
  retryWindowMs,
  type RetryWindows,
} from '@pis/webhooks';
import type pg from 'pg';
import type { StoredDelivery } from './delivery-log.js';

export interface RevivedDelivery {
  /** UUIDv5 of event and endpoint. */
  readonly id: string;
  readonly organizationId: string;
  readonly endpointId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly paymentId: string | null;
  readonly occurredAt: Date;
  /** The envelope, for a delivery that no longer stores it or is new. */
  readonly body: string;
  /** The end of a new window. A pending delivery keeps its own window if that ends later. */
  readonly windowEndsAt: Date;
}

export interface RevivalOptions {
  readonly now: Date;
  /** Marks the deliveries as replays, and creates those that do not exist. */
  readonly isReplay: boolean;
}

const described = `id, organization_id, endpoint_id, event_id, event_type, payment_id, occurred_at, body,
  is_replay, attempts, created_at, next_attempt_at, window_ends_at, last_status, last_error`;

/** Once a transaction, however many rows there are. */
const wakingUnless = (isReplay: string) =>
  `CASE WHEN NOT ${isReplay} THEN pg_notify('${workChannel}', '${'deliveries' satisfies WorkKind}') END`;

const statements = {
  // Locks in the same order as the dispatchers, so that there is no deadlock. The request is counted, so that a
  // dispatcher that has leased the delivery knows that a failure is not final, whatever the clocks say. With its
  // new window the delivery may outlive the day of its event, so it stores the body.
  wake: `
    WITH pending AS (
      SELECT id FROM webhook_deliveries WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE
    ), wanted AS MATERIALIZED (
      SELECT * FROM unnest($1::uuid[], $4::timestamptz[], $5::text[]) AS t (id, window_ends_at, body)
    )
    UPDATE webhook_deliveries d SET
        next_attempt_at = LEAST(d.next_attempt_at, $2::timestamptz(3)),
        window_ends_at = GREATEST(d.window_ends_at, wanted.window_ends_at),
        redelivery_requests = d.redelivery_requests + 1,
        is_replay = d.is_replay OR $3,
        body = COALESCE(d.body, (SELECT f.body FROM webhook_fan_outs f
          WHERE f.event_id = d.event_id AND f.occurred_at = d.occurred_at LIMIT 1), wanted.body)
      FROM pending JOIN wanted USING (id)
      WHERE d.id = pending.id RETURNING d.id, ${wakingUnless('$3')}`,
  revive: `
    WITH wanted AS MATERIALIZED (
      SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::uuid[],
          $7::timestamptz[], $8::text[], $9::timestamptz[])
        AS t (id, organization_id, endpoint_id, event_id, event_type, payment_id, occurred_at, body,
          window_ends_at)
    ), gone AS (
      DELETE FROM webhook_finished_deliveries WHERE id = ANY ($1::uuid[])
        RETURNING id, body, is_replay, attempts, created_at, finished_at, last_status, last_error
    ), former AS (
      SELECT DISTINCT ON (id) * FROM gone ORDER BY id, finished_at DESC
    )
    INSERT INTO webhook_deliveries (${described})
      SELECT w.id, w.organization_id, w.endpoint_id, w.event_id, w.event_type, w.payment_id,
          w.occurred_at, COALESCE(f.body, o.body, w.body), $11 OR COALESCE(f.is_replay, false),
          COALESCE(f.attempts, 0), COALESCE(f.created_at, $10), $10, w.window_ends_at,
          f.last_status, f.last_error
        FROM wanted w LEFT JOIN former f ON f.id = w.id
          LEFT JOIN LATERAL (
            SELECT body FROM webhook_fan_outs
              WHERE event_id = w.event_id AND occurred_at = w.occurred_at LIMIT 1) o ON true
        WHERE $11 OR f.id IS NOT NULL
        ORDER BY w.id
      ON CONFLICT (id) DO NOTHING RETURNING id, ${wakingUnless('$11')}`,
  // What 'revive' created as new may have been created by another replay, and finished, after the snapshot of 'revive'. A later
  // snapshot has that row.
  join: `
    WITH gone AS (
      DELETE FROM webhook_finished_deliveries WHERE id = ANY ($1::uuid[])
        RETURNING id, attempts, created_at, finished_at, last_status, last_error
    ), former AS (
      SELECT DISTINCT ON (id) * FROM gone ORDER BY id, finished_at DESC
    )
    UPDATE webhook_deliveries d SET attempts = f.attempts, created_at = f.created_at,
        last_status = f.last_status, last_error = f.last_error
      FROM former f WHERE d.id = f.id RETURNING d.id`,
} as const;

/**
 * Runs two statements, in a transaction of the caller (READ COMMITTED) or without one. The second sees
 * deliveries that finished during the first. A replay needs the transaction, and a third statement.
 * @returns the ids that this call made pending. Without `isReplay` a delivery that was moved meanwhile may
 *   be missing. Call again then
 */
export async function reviveDeliveries(
  client: pg.ClientBase | pg.Pool,
  deliveries: readonly RevivedDelivery[],
  { now, isReplay }: RevivalOptions,
): Promise<ReadonlySet<string>> {
  if (deliveries.length === 0) return new Set();
  const ids = deliveries.map(({ id }) => id);
  const windowEnds = deliveries.map(({ windowEndsAt }) => windowEndsAt);
  const bodies = deliveries.map(({ body }) => body);
  const woken = await run(client, 'wake', [ids, now, isReplay, windowEnds, bodies]);
  const asleep = deliveries.filter(({ id }) => !woken.has(id));
  if (asleep.length === 0) return woken;
  const revived = await run(client, 'revive', [
    asleep.map(({ id }) => id),
    asleep.map(({ organizationId }) => organizationId),
    asleep.map(({ endpointId }) => endpointId),
    asleep.map(({ eventId }) => eventId),
    asleep.map(({ eventType }) => eventType),
    asleep.map(({ paymentId }) => paymentId),
    asleep.map(({ occurredAt }) => occurredAt),
    asleep.map(({ body }) => body),
    asleep.map(({ windowEndsAt }) => windowEndsAt),
    now,
    isReplay,
  ]);
  if (isReplay && revived.size > 0) await run(client, 'join', [[...revived]]);
  return new Set([...woken, ...revived]);
}

/** Reads past events, in the order of the refs. Events that do not exist are left out. */
export type PastEvents = (
  refs: readonly { readonly streamId: string; readonly eventId: string }[],
) => Promise<readonly EnvelopeSource[]>;

/**
 * The body of a delivery. Bodies are dropped with their day. After that the body is computed again from the
 * stream of the payment. Null when that is not possible either.
 */
export async function deliveryBodyOf(
  { body, eventId, paymentId }: StoredDelivery,
  pastEvents: PastEvents,
): Promise<string | null> {
  if (body !== null) return body;
  if (paymentId === null) return null;
  const [event] = await pastEvents([{ streamId: streamIdOf('payment', paymentId), eventId }]);
  return event === undefined ? null : JSON.stringify(paymentEnvelope(event));
}

export interface RedeliveryOptions {
  readonly pastEvents: PastEvents;
  readonly windows: RetryWindows;
  readonly now: Date;
}

/** How often others may move a delivery between the tables while it is searched. */
const triesMax = 3;

/**
 * Sends one delivery again, on request.
 * @returns false when the delivery, or its body, no longer exists
 */
export async function redeliver(
  pool: pg.Pool,
  delivery: StoredDelivery,
  { pastEvents, windows, now }: RedeliveryOptions,
): Promise<boolean> {
  const body = await deliveryBodyOf(delivery, pastEvents);
  if (body === null) return false;
  const windowMs = retryWindowMs(windows, delivery.eventType);
  const revived = { ...delivery, body, windowEndsAt: new Date(now.getTime() + windowMs) };
  for (let tries = 1; tries <= triesMax; tries += 1)
    if ((await reviveDeliveries(pool, [revived], { now, isReplay: false })).size > 0) return true;
  return false;
}

async function run(
  client: pg.ClientBase | pg.Pool,
  name: keyof typeof statements,
  values: readonly unknown[],
): Promise<ReadonlySet<string>> {
  const query = { name: `webhook_deliveries.${name}`, text: statements[name], values: [...values] };
  const { rows } = await client.query<{ id: string }>(query);
  return new Set(rows.map(({ id }) => id));
}
