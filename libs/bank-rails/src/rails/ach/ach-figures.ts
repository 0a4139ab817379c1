/** Numbers on the ACH tables for operators, over all connections. */
import type pg from 'pg';
import type { StayingState } from './ach-staying-files.js';

export interface AchFigures {
  /** Entries in no file yet, counted up to achCountMax. */
  readonly waiting: number;
  /** Entries in a file that the bank has not answered for them, counted up to achCountMax. */
  readonly filed: number;
  /** How long the entry has waited that should have been in a file the longest ago; 0 when none should. */
  readonly lateSeconds: number;
  /** Payments that wait for a prenote, counted up to achCountMax. */
  readonly awaitingPrenote: number;
  /** Files that were not uploaded yet. */
  readonly recorded: number;
  /** Age of the oldest of them; 0 without one. */
  readonly recordedSeconds: number;
  /** Uploaded files that the bank has not acknowledged in its time. */
  readonly overdue: number;
  /** Files without an acknowledgement whose first settlement day has begun in New York. */
  readonly settling: number;
  /** Files whose bytes cannot be sent any more. */
  readonly unsendable: number;
  /** Files of banks, seen within the last hour, that cannot be read: what they say is not known. */
  readonly inboxUnread: number;
  /** Files of banks, seen within the last hour, that were recorded and cannot be removed. */
  readonly inboxKept: number;
}

/** The highest count. A larger number is reported as this one. */
export const achCountMax = 10_000;

export async function achFigures(pool: pg.Pool): Promise<AchFigures> {
  const { rows } = await pool.query<AchFigures>({
    name: 'ach-figures',
    text: figuresSql,
    values: [achCountMax],
  });
  const [figures] = rows;
  if (figures === undefined) throw new Error('the ACH entries were not counted');
  return figures;
}

const countedEntries = (status: 'waiting' | 'filed') => `
  (SELECT count(*)::int FROM (
     SELECT FROM ach_entries WHERE status = '${status}' LIMIT $1) n) AS ${status}`;

/** Each look at an inbox renews the rows of what is there. Nobody looks at the inbox of a connection that was removed. */
const stayingFiles = (state: StayingState) =>
  `(SELECT count(*)::int FROM ach_inbox_files
     WHERE state = '${state}' AND seen_at > now() - interval '1 hour')`;

const figuresSql = `
  SELECT ${countedEntries('waiting')}, ${countedEntries('filed')},
         (SELECT count(*)::int FROM (
            SELECT FROM ach_prenote_waits w JOIN ach_prenotes p ON p.reference = w.prenote
             WHERE p.state = 'open' AND w.until > now() - interval '1 day' LIMIT $1) n) AS "awaitingPrenote",
         ${stayingFiles('unread')} AS "inboxUnread", ${stayingFiles('kept')} AS "inboxKept",
         coalesce(greatest(extract(epoch FROM now() - (
           SELECT min(due_at) FROM ach_entries WHERE status = 'waiting')), 0), 0)::float8 AS "lateSeconds",
         count(*) FILTER (WHERE status = 'recorded')::int AS recorded,
         coalesce(greatest(extract(epoch FROM now() - min(created_at) FILTER (WHERE status = 'recorded')), 0), 0)
           ::float8 AS "recordedSeconds",
         count(*) FILTER (WHERE status = 'uploaded' AND overdue_at <= now())::int AS overdue,
         count(*) FILTER (WHERE settles_on <= (now() AT TIME ZONE 'America/New_York')::date)::int AS settling,
         count(*) FILTER (WHERE status = 'unsendable')::int AS unsendable
    FROM ach_files WHERE status IN ('recorded', 'uploaded', 'unsendable')`;
