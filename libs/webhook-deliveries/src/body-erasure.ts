/**
 * Takes an erased party out of what was stored of deliveries: the bodies, pending and finished, and the
 * recorded excerpts of the receivers' answers, which may repeat a body.
 *
 * A pending delivery is sent with its new body, and signed as ever: a signature is made at each attempt.
 * Each statement stands alone and can be repeated. A body is written only in the place of the one that was
 * read: another erasure may rewrite the same body for the other party. What a dispatcher writes meanwhile may
 * be missed, so the caller comes back later.
 */
import { withErased } from '@pis/contracts';
import type pg from 'pg';
import { deliveryIdOf } from './delivery-log.js';

export interface PastEvent {
  readonly eventId: string;
  /** ISO 8601. */
  readonly occurredAt: string;
}

export interface EventsOfPayments {
  readonly paymentIds: readonly string[];
  readonly events: readonly PastEvent[];
}

/** Delivery ids in one statement. */
const idsMax = 5_000;
/** How often bodies are read again because they changed before they were written. */
const triesMax = 20;

const bodiesOf = {
  fanOuts: {
    // One by one, so that only the partition of the event's day is read.
    select: `SELECT f.event_id AS key, f.occurred_at AS at, f.body
      FROM unnest($1::uuid[], $2::timestamptz[]) e (event_id, occurred_at) CROSS JOIN LATERAL (
        SELECT event_id, occurred_at, body FROM webhook_fan_outs
        WHERE event_id = e.event_id AND occurred_at = e.occurred_at AND body IS NOT NULL) f`,
    update: `UPDATE webhook_fan_outs f SET body = t.body
      FROM unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[]) t (event_id, occurred_at, body, before)
      WHERE f.event_id = t.event_id AND f.occurred_at = t.occurred_at AND f.body = t.before`,
  },
  // Before the finished ones, because a delivery that ends meanwhile moves there.
  pending: {
    select: `SELECT id AS key, NULL AS at, body FROM webhook_deliveries
      WHERE payment_id = ANY($1::uuid[]) AND body IS NOT NULL`,
    update: `UPDATE webhook_deliveries d SET body = t.body
      FROM unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[]) t (id, at, body, before)
      WHERE d.id = ANY($1::uuid[]) AND d.id = t.id AND d.body = t.before`,
  },
  finished: {
    select: `SELECT id AS key, finished_at AS at, body FROM webhook_finished_deliveries
      WHERE payment_id = ANY($1::uuid[]) AND body IS NOT NULL`,
    update: `UPDATE webhook_finished_deliveries d SET body = t.body
      FROM unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[]) t (id, finished_at, body, before)
      WHERE d.id = t.id AND d.finished_at = t.finished_at AND d.body = t.before`,
  },
} as const;

interface BodyRow {
  readonly key: string;
  readonly at: Date | null;
  readonly body: string;
}

/** Erases the party from everything that was stored of these events. @throws connection errors of PostgreSQL */
export async function eraseFromDeliveries(
  pool: pg.Pool,
  { paymentIds, events }: EventsOfPayments,
  { partyId, organizationId }: { readonly partyId: string; readonly organizationId: string },
): Promise<void> {
  if (paymentIds.length === 0) return;
  const rewrite = (body: string) => withoutParty(body, partyId);
  const ids = events.map(({ eventId }) => eventId);
  const times = events.map(({ occurredAt }) => occurredAt);
  await rewriteBodies(pool, bodiesOf.fanOuts, [ids, times], rewrite);
  await rewriteBodies(pool, bodiesOf.pending, [paymentIds], rewrite);
  await rewriteBodies(pool, bodiesOf.finished, [paymentIds], rewrite);
  await eraseExcerpts(pool, ids, organizationId);
}

async function rewriteBodies(
  pool: pg.Pool,
  { select, update }: (typeof bodiesOf)[keyof typeof bodiesOf],
  values: readonly unknown[],
  rewrite: (body: string) => string,
): Promise<void> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const { rows } = await pool.query<BodyRow>(select, [...values]);
    const changed = rows.flatMap((row) => {
      const body = rewrite(row.body);
      return body === row.body ? [] : [{ ...row, body, before: row.body }];
    });
    if (changed.length === 0) return;
    const { rowCount } = await pool.query(update, [
      changed.map(({ key }) => key),
      changed.map(({ at }) => at),
      changed.map(({ body }) => body),
      changed.map(({ before }) => before),
    ]);
    if (rowCount === changed.length) return;
  }
  throw new Error('bodies of deliveries changed each time they were about to be rewritten');
}

/** The same envelope without the personal data of the party; the same text when it has none of it. */
function withoutParty(body: string, partyId: string): string {
  if (!body.includes(partyId)) return body;
  const envelope = JSON.parse(body) as { readonly data: object };
  const data = withErased(envelope.data, (id) => id === partyId);
  return data === envelope.data ? body : JSON.stringify({ ...envelope, data });
}

/** Endpoints that were deleted too: what was sent to them is still recorded. */
async function eraseExcerpts(
  pool: pg.Pool,
  eventIds: readonly string[],
  organizationId: string,
): Promise<void> {
  const { rows } = await pool.query<{ endpoint_id: string }>(
    'SELECT endpoint_id FROM webhook_endpoints WHERE organization_id = $1',
    [organizationId],
  );
  const deliveryIds = eventIds.flatMap((eventId) =>
    rows.map(({ endpoint_id: endpointId }) => deliveryIdOf(eventId, endpointId)),
  );
  for (let from = 0; from < deliveryIds.length; from += idsMax)
    await pool.query(
      `UPDATE webhook_attempts SET response_excerpt = NULL
       WHERE delivery_id = ANY($1::uuid[]) AND response_excerpt IS NOT NULL`,
      [deliveryIds.slice(from, from + idsMax)],
    );
}
