/**
 * Reads the index of integration events: in the order of the log for the pull feed, in the order of time
 * for replays. Both read an index range from a given position.
 */
import { beginning, type Position } from '@pis/event-store';
import type pg from 'pg';
import { orUnavailable } from './or-unavailable.js';

/** An event of an organization, without its content. */
export interface IndexedEventRef {
  readonly position: Position;
  readonly eventId: string;
  readonly eventType: string;
  readonly streamId: string;
  readonly revision: number;
  readonly paymentId: string | null;
  /** ISO 8601 with milliseconds. */
  readonly occurredAt: string;
}

/** Where reading by time continues. Compares by time first. */
export interface TimePlace {
  readonly occurredAt: string;
  readonly position: Position;
}

/** What the events of a page have in common. Absent parts do not matter. */
export interface EventsFilter {
  readonly eventType: string | undefined;
  /** ISO 8601. Earlier events do not match. */
  readonly from: string | undefined;
}

export interface FoundEvents {
  readonly found: readonly IndexedEventRef[];
  /** The position up to which the index was looked through. */
  readonly reached: Position;
}

export interface EventsQuery {
  /**
   * Those that match, oldest first, after the position. Looks through `scanMax` events at most: only the matches leave
   * the database, because a filter may skip everything.
   * @throws StoreUnavailable
   */
  matching(
    organizationId: string,
    position: Position,
    filter: EventsFilter,
    limits: { readonly max: number; readonly scanMax: number },
  ): Promise<FoundEvents>;

  /**
   * The position to begin after, so that no event since then is missed and few earlier ones are read.
   * @param since ISO 8601
   */
  positionBefore(organizationId: string, since: string): Promise<Position>;

  /** By time, then position: after `after`, or from `from` on; until `to`, both inclusive. */
  between(
    organizationId: string,
    range: { readonly from: string; readonly to: string; readonly after: TimePlace | null },
    max: number,
  ): Promise<IndexedEventRef[]>;
}

/**
 * The largest difference between the times of events, set by the processes that append them, and their
 * order in the log.
 */
const clockSkewMs = 60_000;

const columns = `position, event_id AS "eventId", event_type AS "eventType", stream_id AS "streamId",
  revision, payment_id AS "paymentId", occurred_at AS "occurredAt"`;

const statements = {
  // Reads no further than a full page needs. How far it looked matters only when the page is not full.
  matching: `WITH matches AS MATERIALIZED (
      SELECT ${columns} FROM (
        SELECT * FROM integration_events
          WHERE organization_id = $1 AND position > $2 ORDER BY position LIMIT $3) scanned
        WHERE ($4::text IS NULL OR event_type = $4)
          AND ($5::timestamptz(3) IS NULL OR occurred_at >= $5::timestamptz(3))
        ORDER BY position LIMIT $6)
    SELECT s.last, m.* FROM (
      SELECT CASE WHEN (SELECT count(*) FROM matches) < $6 THEN (
        SELECT max(position) FROM (
          SELECT position FROM integration_events
            WHERE organization_id = $1 AND position > $2 ORDER BY position LIMIT $3) scanned) END AS last) s
    LEFT JOIN matches m ON true
    ORDER BY m.position`,
  before: `SELECT position FROM integration_events
    WHERE organization_id = $1 AND occurred_at < $2::timestamptz(3)
    ORDER BY occurred_at DESC, position DESC LIMIT 1`,
  between: `SELECT ${columns} FROM integration_events
    WHERE organization_id = $1 AND occurred_at <= $3::timestamptz(3)
      AND (occurred_at, position) > ($2::timestamptz(3), $4)
    ORDER BY occurred_at, position LIMIT $5`,
} as const;

type Row = Omit<IndexedEventRef, 'occurredAt'> & { readonly occurredAt: Date };
/** One row without an event when none matches. `last` is null when the page is full. */
type MatchingRow = { readonly last: Position | null } & (Row | { readonly position: null });

export function eventsQuery(pool: pg.Pool): EventsQuery {
  const run = async <Result extends pg.QueryResultRow>(
    name: keyof typeof statements,
    values: unknown[],
  ) => {
    const text = statements[name];
    const query = { name: `integration_events.${name}`, text, values };
    return (await orUnavailable(() => pool.query<Result>(query))).rows;
  };
  return {
    async matching(organizationId, position, { eventType, from }, { max, scanMax }) {
      const values = [organizationId, position, scanMax, eventType ?? null, from ?? null, max];
      const rows = await run<MatchingRow>('matching', values);
      const found = rows.flatMap(({ last: _last, ...row }) =>
        row.position === null ? [] : [refOf(row as Row)],
      );
      const last = found.length === max ? found.at(-1)?.position : rows[0]?.last;
      return { found, reached: last ?? position };
    },
    async positionBefore(organizationId, since) {
      const early = new Date(Date.parse(since) - clockSkewMs).toISOString();
      const [last] = await run<{ position: Position }>('before', [organizationId, early]);
      return last?.position ?? beginning;
    },
    async between(organizationId, { from, to, after }, max) {
      // Positions compare above '': the first page begins with `from` itself.
      const { occurredAt, position } = after ?? { occurredAt: from, position: beginning };
      const values = [organizationId, occurredAt, to, position, max];
      return (await run<Row>('between', values)).map(refOf);
    },
  };
}

function refOf(row: Row): IndexedEventRef {
  return { ...row, occurredAt: row.occurredAt.toISOString() };
}
