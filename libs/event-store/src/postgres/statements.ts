/**
 * The statements of the PostgreSQL event store. JSON, uuid and bigint come back as text, whatever
 * type parsers the pool has.
 *
 * Each lookup is an ordered subquery with its own index scan. The plain `= ANY` form was rejected: a
 * generic plan made while the table is empty scans the whole table, and stays when it has grown.
 *
 * The log is in partitions. Log reads open only those of their positions. Stream reads look into the index of each.
 */
import type { Statement } from './database.js';

export interface AppendRow {
  readonly append: number;
  readonly done: boolean;
  readonly at_revision: string;
  readonly at_position: string | null;
  /** Whether this statement has written it. False also when an earlier append of the same ids has. */
  readonly is_new: boolean;
  /** The id of the last event before the new ones. Null also if it was written while this statement waited. */
  readonly before_id: string | null;
}

export interface EventRow {
  readonly position: string;
  readonly stream_id: string;
  readonly revision: number;
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
}

/** One row with a null position when no event matched, because the head of the log is always returned. */
export type LogRow = {
  readonly head: string;
  /** The id of the event at the position that was read from. */
  readonly after_id: string | null;
  /** The id of the event at the last position that was looked at, if that is behind it. */
  readonly end_id: string | null;
} & (EventRow | { readonly position: null });

const columns = `e.position::text AS position, e.stream_id, e.revision, e.id::text AS id, e.type,
  e.data::text AS data, e.metadata::text AS metadata`;

/**
 * The head is locked by this statement first, so positions after it are new. The function is called later, because its
 * argument depends on the head: a comparison that no planner can decide in advance.
 */
export const appendEvents: Statement = {
  name: 'pis_append_events',
  text: `SELECT append, done, at_revision::text AS at_revision, at_position::text AS at_position,
      coalesce(at_position > h.position, false) AS is_new, b.id::text AS before_id
    FROM (SELECT position FROM event_log_head FOR UPDATE) h
    LEFT JOIN LATERAL (
      SELECT id FROM events
      WHERE position >= h.position AND position <= h.position
      ORDER BY position DESC LIMIT 1
    ) b ON true
    CROSS JOIN LATERAL append_events(CASE WHEN h.position >= 0 THEN $1::json END, $2, $3)`,
};

/** The number of the requested part, counted from 1. */
export interface PartRow extends EventRow {
  readonly part: number;
}

/**
 * The arrays come out of subqueries, so that PostgreSQL does not know their lengths when it plans. Otherwise it plans each
 * call anew for one part instead of ten, which costs more than the call itself.
 */
export const readParts: Statement = {
  name: 'pis_read_parts',
  text: `SELECT asked.part::int AS part, ${columns}
    FROM unnest((SELECT $1::text[]), (SELECT $2::bigint[]), (SELECT $3::bigint[]))
      WITH ORDINALITY AS asked(id, first_revision, max_count, part)
    CROSS JOIN LATERAL (
      SELECT * FROM events WHERE stream_id = asked.id AND revision >= asked.first_revision
      ORDER BY revision LIMIT asked.max_count
    ) e`,
};

export const readBackwards: Statement = {
  name: 'pis_read_backwards',
  text: `SELECT ${columns} FROM events e
    WHERE e.stream_id = $1 AND e.revision <= coalesce($2::bigint, 9223372036854775807)
    ORDER BY e.revision DESC LIMIT $3::bigint`,
};

/** The head and the events come from one snapshot: other events are after the head. */
const readLogWhere = (name: string, condition: string): Statement => ({
  name,
  text: `SELECT h.position::text AS head, a.id::text AS after_id, ${columns},
      CASE WHEN l.position = least(h.position, $2::bigint) THEN l.id::text END AS end_id
    FROM event_log_head h
    LEFT JOIN LATERAL (
      SELECT id FROM events
      WHERE position >= $1::bigint AND position <= $1::bigint
      ORDER BY position DESC LIMIT 1
    ) a ON true
    LEFT JOIN LATERAL (
      SELECT position, id FROM events
      WHERE position > $1::bigint AND position <= $2::bigint AND position <= h.position
      ORDER BY position DESC LIMIT 1
    ) l ON true
    LEFT JOIN LATERAL (
      SELECT * FROM events
      WHERE position > $1::bigint AND position <= $2::bigint ${condition}
      ORDER BY position LIMIT $3::bigint
    ) e ON true
    ORDER BY e.position`,
});

export const readLog = readLogWhere('pis_read_log', '');
export const readLogOfPrefixes = readLogWhere(
  'pis_read_log_of_prefixes',
  'AND stream_id ^@ ANY($4::text[])',
);

export const readLastUpTo: Statement = {
  name: 'pis_read_last_up_to',
  text: `SELECT ${columns} FROM events e WHERE e.position <= $1::bigint
    ORDER BY e.position DESC LIMIT 1`,
};

export const readHead: Statement = {
  name: 'pis_read_head',
  text: 'SELECT position::text AS head FROM event_log_head',
};
