/**
 * The health of an endpoint as its owner sees it. The dispatchers record the first failed attempt after a
 * success in webhook_endpoint_failures, and delete the row at the next success.
 */
import type pg from 'pg';

/** The health of an endpoint whose last attempt failed. All other endpoints are healthy. */
export interface EndpointHealth {
  /** `failing`: attempts have failed for a day or longer, without a success in between. */
  readonly health: 'degraded' | 'failing';
  /** The first failed attempt after the last success. */
  readonly failingSince: Date;
}

/** How long attempts must fail until the endpoint is `failing`, and is reported to operators. */
export const failingAfterMs = 24 * 3_600_000;

interface FailureRow {
  readonly endpointId: string;
  readonly failingSince: Date;
  readonly lastFailedAt: Date;
}

/**
 * Counts the time between the first and the last failed attempt. A single failure with nothing to send after
 * it does not make an endpoint `failing`, however long ago it was.
 */
function healthOf({ failingSince, lastFailedAt }: FailureRow): EndpointHealth {
  const failedForMs = lastFailedAt.getTime() - failingSince.getTime();
  return { health: failedForMs >= failingAfterMs ? 'failing' : 'degraded', failingSince };
}

export interface EndpointHealths {
  /** The health of those endpoints that fail, by id. */
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
