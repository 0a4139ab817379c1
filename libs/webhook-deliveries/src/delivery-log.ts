/**
 * The deliveries of an endpoint as its owner sees them: reads the view over pending and finished
 * deliveries, and the attempts.
 */
import type pg from 'pg';
import type { DeliveryListFilter } from '@pis/contracts';
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
  /** The exact bytes of the envelope. Null when its day was dropped. Then it can be computed again. */
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

/** The same for a message handled twice, and for nobody else (rule delivery-header-4). */
export function deliveryIdOf(eventId: string, endpointId: string): string {
  return uuidV5(eventId, endpointId);
}

/** All given conditions must hold. Times are ISO 8601, of the event's occurrence, inclusive. */
export interface DeliveryFilter extends Omit<DeliveryListFilter, 'paymentId'> {
  /** For example those of a payment: its events are known, and with them the delivery ids. */
  readonly ids?: readonly string[] | undefined;
}

export interface DeliveryPlace {
  readonly createdAt: string;
  readonly id: string;
}

export interface DeliveryPage {
  readonly items: readonly DeliveryRecord[];
  /** Where the next page begins. Null on the last page. */
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
  /** For operators, who may see the deliveries of every organization. */
  find(deliveryId: string): Promise<StoredDelivery | null>;
  /** Oldest first. Beyond the limit only the latest ones. */
  attempts(deliveryId: string): Promise<readonly AttemptRecord[]>;
}

/** Many more than a window has. */
const attemptsMax = 1_000;
/**
 * The most deliveries that are scanned for a page when no index serves the filter. So a page has a bounded
 * cost, and may hold fewer items than the limit.
 */
const scanMaxDefault = 20_000;
/**
 * A delivery is created after its event, by clocks that differ by less than this. So deliveries that were
 * created before `from` minus this can be skipped.
 */
const clockSkew = "interval '1 minute'";

export const deliveryColumns = `id, organization_id AS "organizationId", endpoint_id AS "endpointId",
  event_id AS "eventId", event_type AS "eventType", payment_id AS "paymentId",
  occurred_at AS "occurredAt", state, is_replay AS "isReplay", attempts, created_at AS "createdAt",
  next_attempt_at AS "nextAttemptAt", finished_at AS "finishedAt",
  finished_reason AS "finishedReason", last_status AS "lastStatus", last_error AS "lastError"`;
const newestFirst = 'ORDER BY created_at DESC, id DESC';

export function deliveryLog(pool: pg.Pool, { scanMax = scanMaxDefault } = {}): DeliveryLog {
  const one = async (name: string, condition: string, values: readonly string[]) => {
    // A delivery that a replay made before the fan-out of its event may exist twice. The newest counts.
    const text = `SELECT ${deliveryColumns}, body FROM webhook_delivery_records WHERE ${condition}
      ORDER BY finished_at DESC NULLS FIRST LIMIT 1`;
    const query = { name: `webhook_delivery_records.${name}`, text, values: [...values] };
    return (await pool.query<StoredDelivery>(query)).rows[0] ?? null;
  };
  return {
    async list(endpoint, filter, page) {
      const { text, values, scanEnd } = listStatements(endpoint, filter, page, scanMax);
      // Not a prepared statement: the plan must fit the values, because filters differ in selectivity.
      const { rows } = await pool.query<DeliveryRecord>(text, values);
      const items = rows.slice(0, page.limit);
      const last = items.at(-1);
      if (rows.length > page.limit) return { items, next: last ? placeOf(last) : null };
      const [end] = scanEnd ? (await pool.query<Placed>(scanEnd.text, scanEnd.values)).rows : [];
      return { items, next: end === undefined ? null : placeOf(older(end, last)) };
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

interface Statement {
  readonly text: string;
  readonly values: unknown[];
}

/** The page, and, if a filter has to scan, where the scan ends. */
function listStatements(
  { organizationId, endpointId }: Parameters<DeliveryLog['list']>[0],
  { ids, state, eventType, from, to, ...others }: DeliveryFilter,
  { limit, after }: Parameters<DeliveryLog['list']>[2],
  scanMax: number,
): Statement & { readonly scanEnd: Statement | null } {
  // A filter that contracts declare and that is missing here does not compile.
  others satisfies Record<string, never>;
  const values: unknown[] = [];
  const $ = (value: unknown) => `$${values.push(value)}`;

  const indexed = [`organization_id = ${$(organizationId)}`, `endpoint_id = ${$(endpointId)}`];
  if (after !== undefined)
    indexed.push(
      `(created_at, id) < (${$(after.createdAt)}::timestamptz(3), ${$(after.id)}::uuid)`,
    );
  if (ids !== undefined) indexed.push(`id = ANY (${$(ids)}::uuid[])`);
  // Most deliveries are delivered, so no index serves that state.
  if (state !== undefined && state !== 'delivered') indexed.push(`state = ${$(state)}`);
  if (from !== undefined) indexed.push(`created_at >= ${$(from)}::timestamptz(3) - ${clockSkew}`);
  const picked = `FROM webhook_delivery_records WHERE ${indexed.join(' AND ')} ${newestFirst}`;
  const pickedValues = [...values];

  const tried: string[] = [];
  if (state === 'delivered') tried.push(`state = ${$(state)}`);
  if (eventType !== undefined) tried.push(`event_type = ${$(eventType)}`);
  if (from !== undefined) tried.push(`occurred_at >= ${$(from)}::timestamptz(3)`);
  if (to !== undefined) tried.push(`occurred_at <= ${$(to)}::timestamptz(3)`);
  if (tried.length === 0) {
    const text = `SELECT ${deliveryColumns} ${picked} LIMIT ${$(limit + 1)}`;
    return { text, values, scanEnd: null };
  }
  // Not a CTE, which would be read to its end. A subquery stops as soon as the page is full.
  const text = `SELECT ${deliveryColumns} FROM (SELECT * ${picked} LIMIT ${$(scanMax)}) scanned
    WHERE ${tried.join(' AND ')} ${newestFirst} LIMIT ${$(limit + 1)}`;
  const end = `SELECT created_at AS "createdAt", id ${picked} OFFSET ${scanMax - 1} LIMIT 1`;
  return { text, values, scanEnd: { text: end, values: pickedValues } };
}

interface Placed {
  readonly createdAt: Date;
  readonly id: string;
}

function placeOf({ createdAt, id }: Placed): DeliveryPlace {
  return { createdAt: createdAt.toISOString(), id };
}

/** The older of two places, so that deliveries made between the two statements do not repeat items. */
function older(end: Placed, last: Placed | undefined): Placed {
  if (last === undefined) return end;
  const byTime = end.createdAt.getTime() - last.createdAt.getTime();
  return byTime < 0 || (byTime === 0 && end.id < last.id) ? end : last;
}
