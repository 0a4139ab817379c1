/** All deliveries of an organization, endpoint by endpoint, for a reader that reads them to the end. */
import type pg from 'pg';
import { deliveryColumns, type DeliveryRecord } from './delivery-log.js';

/** ISO 8601; of the creation of a delivery, inclusive. */
export interface DeliveryRange {
  readonly organizationId: string;
  readonly from: string | undefined;
  readonly until: string;
}

/** Behind a delivery. Of an endpoint the newest are first. */
export interface DeliveryPagePlace {
  readonly endpointId: string;
  /** Null before the first delivery of the endpoint. */
  readonly createdAt: string | null;
  readonly id: string | null;
}

export interface DeliveriesRead {
  readonly items: readonly (DeliveryRecord & { readonly originatorId: string | null })[];
  /** Null at the end. */
  readonly next: DeliveryPagePlace | null;
}

/** One page; it may be empty although others follow. `originatorId` is that of the payment. */
export async function readDeliveries(
  pool: pg.Pool,
  { organizationId, from, until }: DeliveryRange,
  after: DeliveryPagePlace | null,
  limit: number,
): Promise<DeliveriesRead> {
  const place = after ?? (await followingEndpoint(pool, organizationId, null));
  if (place === null) return { items: [], next: null };
  const { rows } = await pool.query<DeliveriesRead['items'][number]>({
    name: 'webhook_delivery_records.page',
    // CASE: the planner must not search the payments of the organization for one of them.
    text: `SELECT page.*, (SELECT CASE WHEN p.organization_id = $1 THEN p.originator_id END FROM payments p
          WHERE p.payment_id = page."paymentId") AS "originatorId"
      FROM (SELECT ${deliveryColumns} FROM webhook_delivery_records
        WHERE organization_id = $1 AND endpoint_id = $2
          AND ($3::timestamptz(3) IS NULL OR created_at >= $3::timestamptz(3))
          AND created_at <= $4::timestamptz(3)
          AND ($5::timestamptz(3) IS NULL OR (created_at, id) < ($5::timestamptz(3), $6::uuid))
        ORDER BY created_at DESC, id DESC LIMIT $7) page
      ORDER BY page."createdAt" DESC, page.id DESC`,
    values: [
      organizationId,
      place.endpointId,
      from ?? null,
      until,
      place.createdAt,
      place.id,
      limit,
    ],
  });
  const last = rows.at(-1);
  const next =
    rows.length < limit || last === undefined
      ? await followingEndpoint(pool, organizationId, place.endpointId)
      : { endpointId: place.endpointId, createdAt: last.createdAt.toISOString(), id: last.id };
  return { items: rows, next };
}

/** How many there are, including those of deleted endpoints. */
export async function countDeliveries(
  pool: pg.Pool,
  { organizationId, from, until }: DeliveryRange,
): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `SELECT count(*)::float8 AS count FROM webhook_endpoints e CROSS JOIN LATERAL (
       SELECT id FROM webhook_delivery_records d
        WHERE d.endpoint_id = e.endpoint_id AND d.organization_id = $1
          AND ($2::timestamptz IS NULL OR d.created_at >= $2) AND d.created_at <= $3) d
      WHERE e.organization_id = $1`,
    [organizationId, from ?? null, until],
  );
  return rows[0]?.count ?? 0;
}

/** Endpoints that were deleted too: what was sent to them is still recorded. */
async function followingEndpoint(
  pool: pg.Pool,
  organizationId: string,
  after: string | null,
): Promise<DeliveryPagePlace | null> {
  const { rows } = await pool.query<{ endpoint_id: string }>(
    `SELECT endpoint_id FROM webhook_endpoints WHERE organization_id = $1
       AND ($2::uuid IS NULL OR endpoint_id > $2::uuid) ORDER BY endpoint_id LIMIT 1`,
    [organizationId, after],
  );
  const [row] = rows;
  return row === undefined ? null : { endpointId: row.endpoint_id, createdAt: null, id: null };
}
