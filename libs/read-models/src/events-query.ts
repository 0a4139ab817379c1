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

export interface EventsQuery {
  /** Oldest first, after the position. @throws StoreUnavailable */
  after(organizationId: string, position: Position, max: number): Promise<IndexedEventRef[]>;

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
  after: `SELECT ${columns} FROM integration_events
    WHERE organization_id = $1 AND position > $2 ORDER BY position LIMIT $3`,
  before: `SELECT position FROM integration_events
    WHERE organization_id = $1 AND occurred_at < $2::timestamptz(3)
    ORDER BY occurred_at DESC, position DESC LIMIT 1`,
  between: `SELECT ${columns} FROM integration_events
    WHERE organization_id = $1 AND occurred_at <= $3::timestamptz(3)
      AND (occurred_at, position) > ($2::timestamptz(3), $4)
    ORDER BY occurred_at, position LIMIT $5`,
} as const;

type Row = Omit<IndexedEventRef, 'occurredAt'> & { readonly occurredAt: Date };

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
    async after(organizationId, position, max) {
      return (await run<Row>('after', [organizationId, position, max])).map(refOf);
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
