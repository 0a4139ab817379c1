/** How the latest deliveries of endpoints went, counted from a bounded number of rows of each. */
import type pg from 'pg';

export interface RecentOutcomes {
  /** Deliveries with an attempt, or more. */
  readonly attempted: number;
  readonly delivered: number;
  /** There were more in that time. Only the latest were counted. */
  readonly isCapped: boolean;
}

/** The latest delivery whose last attempt failed. */
export interface LatestFailure {
  readonly deliveryId: string;
  readonly statusCode: number | null;
  readonly error: string | null;
}

/** The most deliveries of an endpoint that are counted. */
const outcomesMax = 1_000;

interface OutcomeRow {
  readonly endpointId: string;
  readonly found: number;
  readonly attempted: number;
  readonly delivered: number;
}

interface FailureRow extends LatestFailure {
  readonly endpointId: string;
}

/** Of deliveries that were created since then, by endpoint. Endpoints without one have no entry. */
export async function recentOutcomes(
  pool: pg.Pool,
  organizationId: string,
  endpointIds: readonly string[],
  since: Date,
): Promise<ReadonlyMap<string, RecentOutcomes>> {
  if (endpointIds.length === 0) return new Map();
  const { rows } = await pool.query<OutcomeRow>({
    name: 'webhook_delivery_records.outcomes',
    text: `SELECT e.id AS "endpointId", count(*)::int AS found,
        (count(*) FILTER (WHERE d.state IN ('delivered', 'failed')
          OR (d.state = 'pending' AND d.attempts > 0)))::int AS attempted,
        (count(*) FILTER (WHERE d.state = 'delivered'))::int AS delivered
      FROM unnest($2::uuid[]) AS e (id) CROSS JOIN LATERAL (
        SELECT state, attempts FROM webhook_delivery_records
          WHERE organization_id = $1 AND endpoint_id = e.id AND created_at >= $3::timestamptz
            -- A delivery ends after it was created. Days before that are not read.
            AND (finished_at IS NULL OR finished_at >= $3::timestamptz)
          ORDER BY created_at DESC, id DESC LIMIT $4) d
      GROUP BY e.id`,
    values: [organizationId, endpointIds, since.toISOString(), outcomesMax],
  });
  return new Map(
    rows.map(({ endpointId, found, attempted, delivered }) => [
      endpointId,
      { attempted, delivered, isCapped: found >= outcomesMax },
    ]),
  );
}

/** By endpoint. Reads a bounded number of the latest deliveries that are pending or were not delivered. */
export async function latestFailures(
  pool: pg.Pool,
  organizationId: string,
  endpointIds: readonly string[],
): Promise<ReadonlyMap<string, LatestFailure>> {
  if (endpointIds.length === 0) return new Map();
  const { rows } = await pool.query<FailureRow>({
    name: 'webhook_delivery_records.failures',
    text: `SELECT e.id AS "endpointId", f.id AS "deliveryId", f.last_status AS "statusCode",
        f.last_error AS error
      FROM unnest($2::uuid[]) AS e (id) CROSS JOIN LATERAL (
        SELECT id, last_status, last_error FROM (
          SELECT id, created_at, attempts, last_status, last_error FROM webhook_delivery_records
            WHERE organization_id = $1 AND endpoint_id = e.id AND state <> 'delivered'
            ORDER BY created_at DESC, id DESC LIMIT $3) latest
          WHERE attempts > 0 AND (last_status IS NOT NULL OR last_error IS NOT NULL)
          ORDER BY created_at DESC, id DESC LIMIT 1) f`,
    values: [organizationId, endpointIds, outcomesMax],
  });
  return new Map(rows.map(({ endpointId, ...failure }) => [endpointId, failure]));
}
