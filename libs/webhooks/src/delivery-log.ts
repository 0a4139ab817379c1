/**
 * What clients were told and are still to be told, as their owners see it: reads of the view over the
 * pending and the finished deliveries, and of the attempts.
 */
import type pg from 'pg';
import { v5 as uuidV5 } from 'uuid';

export type DeliveryState = 'pending' | 'delivered' | 'failed' | 'canceled';

export interface DeliveryRecord {
  readonly id: string;
  readonly organizationId: string;
  readonly endpointId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly paymentId: string | null;
  readonly occurredAt: Date;
  readonly state: DeliveryState;
  readonly isReplay: boolean;
  /** Made so far. */
  readonly attempts: number;
  readonly createdAt: Date;
  /** Null once it has finished. */
  readonly nextAttemptAt: Date | null;
  readonly finishedAt: Date | null;
  readonly finishedReason: 'refused' | 'window_ended' | 'endpoint_deleted' | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
}

export interface StoredDelivery extends DeliveryRecord {
  /** The envelope, byte by byte; null when its day was dropped. It can be computed again. */
  readonly body: string | null;
}

export interface AttemptRecord {
  readonly attempt: number;
  readonly at: Date;
  readonly status: number | null;
  readonly durationMs: number;
  readonly error: string | null;
  readonly responseExcerpt: string | null;
}

/** The same for a message handled twice, and for nobody else (spec, "Delivery headers"). */
export function deliveryIdOf(eventId: string, endpointId: string): string {
  return uuidV5(eventId, endpointId);
}

/** All that are given must hold. Times are ISO 8601, of the event's occurrence, inclusive. */
export interface DeliveryFilter {
  /** Those of a payment, for instance: its events are known, and with them its deliveries. */
  readonly ids?: readonly string[] | undefined;
  readonly eventType?: string | undefined;
  readonly state?: DeliveryState | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface DeliveryPlace {
  readonly createdAt: string;
  readonly id: string;
}

export interface DeliveryPage {
  readonly items: readonly DeliveryRecord[];
  /** Where the next page begins; null on the last. */
  readonly next: DeliveryPlace | null;
}

export interface DeliveryLog {
  /** Newest first. */
  list(
    endpoint: { readonly organizationId: string; readonly endpointId: string },
    filter: DeliveryFilter,
    page: { readonly limit: number; readonly after?: DeliveryPlace | undefined },
  ): Promise<DeliveryPage>;
  get(organizationId: string, deliveryId: string): Promise<StoredDelivery | null>;
  /** For an operator, who may see every organization's. */
  find(deliveryId: string): Promise<StoredDelivery | null>;
  /** Oldest first; of more than there is room for, the last ones. */
  attempts(deliveryId: string): Promise<readonly AttemptRecord[]>;
}

/** Many more than a window has. */
const attemptsMax = 1_000;

const columns = `id, organization_id AS "organizationId", endpoint_id AS "endpointId",
  event_id AS "eventId", event_type AS "eventType", payment_id AS "paymentId",
  occurred_at AS "occurredAt", state, is_replay AS "isReplay", attempts, created_at AS "createdAt",
  next_attempt_at AS "nextAttemptAt", finished_at AS "finishedAt",
  finished_reason AS "finishedReason", last_status AS "lastStatus", last_error AS "lastError"`;

/**
 * A delivery is made after its event occurred, by clocks that differ by less than this: so what is older
 * than `from` need not be looked at.
 */
const clockSkew = "interval '1 minute'";

const conditions: Readonly<Record<keyof DeliveryFilter, (parameter: string) => string>> = {
  ids: (parameter) => `id = ANY (${parameter}::uuid[])`,
  eventType: (parameter) => `event_type = ${parameter}`,
  state: (parameter) => `state = ${parameter}`,
  from: (parameter) => `occurred_at >= ${parameter}::timestamptz(3)
    AND created_at >= ${parameter}::timestamptz(3) - ${clockSkew}`,
  to: (parameter) => `occurred_at <= ${parameter}::timestamptz(3)`,
};
const filterNames = Object.keys(conditions) as readonly (keyof DeliveryFilter)[];

export function deliveryLog(pool: pg.Pool): DeliveryLog {
  const one = async (name: string, condition: string, values: readonly string[]) => {
    // One that a replay made before its event was fanned out may be there twice: the newest counts.
    const text = `SELECT ${columns}, body FROM webhook_delivery_records WHERE ${condition}
      ORDER BY finished_at DESC NULLS FIRST LIMIT 1`;
    const query = { name: `webhook_delivery_records.${name}`, text, values: [...values] };
    return (await pool.query<StoredDelivery>(query)).rows[0] ?? null;
  };
  return {
    async list({ organizationId, endpointId }, filter, { limit, after }) {
      const used = filterNames.filter((name) => filter[name] !== undefined);
      const values = [
        organizationId,
        endpointId,
        limit + 1,
        ...used.map((name) => filter[name]),
        ...(after ? [after.createdAt, after.id] : []),
      ];
      // Planned for the values: filters differ too much in how many rows they leave.
      const { rows } = await pool.query<DeliveryRecord>(
        listText(used, after !== undefined),
        values,
      );
      const items = rows.slice(0, limit);
      const last = rows.length > limit ? items.at(-1) : undefined;
      const next = last ? { createdAt: last.createdAt.toISOString(), id: last.id } : null;
      return { items, next };
    },
    get: (organizationId, deliveryId) =>
      one('get', 'id = $1 AND organization_id = $2', [deliveryId, organizationId]),
    find: (deliveryId) => one('find', 'id = $1', [deliveryId]),
    async attempts(deliveryId) {
      const { rows } = await pool.query<AttemptRecord>({
        name: 'webhook_attempts.of',
        text: `SELECT attempt, at, status, duration_ms AS "durationMs", error,
            response_excerpt AS "responseExcerpt"
          FROM webhook_attempts WHERE delivery_id = $1 ORDER BY at DESC, attempt DESC LIMIT $2`,
        values: [deliveryId, attemptsMax],
      });
      return rows.reverse();
    },
  };
}

function listText(used: readonly (keyof DeliveryFilter)[], afterPlace: boolean): string {
  const filters = used.map((name, index) => ` AND ${conditions[name](`$${index + 4}`)}`);
  const next = used.length + 4;
  const keyset = afterPlace
    ? ` AND (created_at, id) < ($${next}::timestamptz(3), $${next + 1}::uuid)`
    : '';
  return `SELECT ${columns} FROM webhook_delivery_records
    WHERE organization_id = $1 AND endpoint_id = $2${filters.join('')}${keyset}
    ORDER BY created_at DESC, id DESC LIMIT $3`;
}
