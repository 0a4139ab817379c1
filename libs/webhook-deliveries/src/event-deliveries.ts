/** The deliveries of given events. Their IDs follow from event and endpoint, so no index by payment is needed. */
import type pg from 'pg';
import { deliveryColumns, deliveryIdOf, type DeliveryRecord } from './delivery-log.js';

/** Endpoints of an organization, deleted ones included, and deliveries of a payment. */
const endpointsMax = 10_000;
const deliveriesMax = 10_000;
/** IDs in one query. */
const idsMax = 5_000;

export interface ReceivingEndpoints {
  readonly organizationId: string;
  readonly endpointIds: readonly string[];
}

export interface EventDelivery extends DeliveryRecord {
  /** Null when the endpoint is not in the list of endpoints. */
  readonly url: string | null;
}

/** To any endpoint of the organization, also to endpoints that were deleted. The oldest first. */
export async function deliveriesOfEvents(
  pool: pg.Pool,
  organizationId: string,
  eventIds: readonly string[],
): Promise<readonly EventDelivery[]> {
  const { rows: endpoints } = await pool.query<{ endpointId: string; url: string | null }>(
    `SELECT endpoint_id AS "endpointId", item->>'url' AS url FROM webhook_endpoints
      WHERE organization_id = $1 ORDER BY created_at DESC LIMIT ${endpointsMax}`,
    [organizationId],
  );
  const urls = new Map(endpoints.map(({ endpointId, url }) => [endpointId, url]));
  const endpointIds = endpoints.map(({ endpointId }) => endpointId);
  const found = await deliveriesTo(pool, { organizationId, endpointIds }, eventIds);
  return found.map((row) => ({ ...row, url: urls.get(row.endpointId) ?? null }));
}

/** To these endpoints. The oldest first. */
export async function deliveriesTo(
  pool: pg.Pool,
  { organizationId, endpointIds }: ReceivingEndpoints,
  eventIds: readonly string[],
): Promise<readonly DeliveryRecord[]> {
  const ids = endpointIds.flatMap((endpointId) =>
    eventIds.map((eventId) => deliveryIdOf(eventId, endpointId)),
  );
  const found: DeliveryRecord[] = [];
  for (let from = 0; from < ids.length && found.length < deliveriesMax; from += idsMax) {
    const { rows } = await pool.query<DeliveryRecord>(
      `SELECT ${deliveryColumns} FROM webhook_delivery_records
        WHERE organization_id = $1 AND id = ANY ($2::uuid[]) LIMIT ${deliveriesMax}`,
      [organizationId, ids.slice(from, from + idsMax)],
    );
    found.push(...rows);
  }
  return found.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
}
