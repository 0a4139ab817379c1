/**
 * How the deliveries to an endpoint go, as its owner sees it. The dispatchers note the first failed attempt
 * after a success in webhook_endpoint_failures, and delete the row at the next success.
 */
import type pg from 'pg';

/** Of an endpoint whose last attempt failed. Every other endpoint is healthy. */
export interface EndpointHealth {
  /** `failing`: attempts have failed for a day or longer, without a success in between. */
  readonly health: 'degraded' | 'failing';
  /** The first failed attempt after the last success. */
  readonly failingSince: Date;
}

/** From when on an endpoint that fails is failing, and operators are told. */
export const failingAfterMs = 24 * 3_600_000;

interface FailureRow {
  readonly endpointId: string;
  readonly failingSince: Date;
  readonly lastFailedAt: Date;
}

/**
 * Between the first and the last failed attempt: one failure with nothing to send after it is no failing
 * endpoint, however long ago it was.
 */
function healthOf({ failingSince, lastFailedAt }: FailureRow): EndpointHealth {
  const failedForMs = lastFailedAt.getTime() - failingSince.getTime();
  return { health: failedForMs >= failingAfterMs ? 'failing' : 'degraded', failingSince };
}

export interface EndpointHealths {
  /** Those of the endpoints that fail, by their ids. */
  failing(
    organizationId: string,
    endpointIds: readonly string[],
  ): Promise<ReadonlyMap<string, EndpointHealth>>;
}

export function endpointHealths(pool: pg.Pool): EndpointHealths {
  return {
    async failing(organizationId, endpointIds) {
      if (endpointIds.length === 0) return new Map();
      const { rows } = await pool.query<FailureRow>({
        name: 'webhook_endpoint_failures.failing',
        text: `SELECT endpoint_id AS "endpointId", failing_since AS "failingSince",
            last_failed_at AS "lastFailedAt"
          FROM webhook_endpoint_failures
          WHERE endpoint_id = ANY ($1::uuid[]) AND organization_id = $2`,
        values: [endpointIds, organizationId],
      });
      return new Map(rows.map((row) => [row.endpointId, healthOf(row)]));
    },
  };
}
