/** Where the audit reads the log: the rows of PostgreSQL, or any store through its port. Neither needs a key. */
import { beginning, type EventStore, type Position, StoreUnavailable } from '@pis/event-store';
import type pg from 'pg';
import { type StoredEvent, storedEventOf } from './stored-event.js';

export interface LogSource {
  readonly hasContiguousPositions: boolean;
  /** The log in its order behind a position, up to where it ended when the reading began. @throws StoreUnavailable */
  pages(after?: Position): AsyncGenerator<readonly StoredEvent[], void, undefined>;
  /** The last position by the store's own account; null when it keeps none. After the pages were read. */
  lastPosition(): number | null;
}

const portPageMax = 2_000;
/** Events of one query, and how long it may take. */
const rowsMax = 4_000;
const queryTimeoutMs = 120_000;

/** @throws StoreUnavailable from `pages` */
export function portLog(store: Pick<EventStore, 'readLog' | 'lastPosition'>): LogSource {
  return {
    hasContiguousPositions: false,
    lastPosition: () => null,
    async *pages(behind = beginning) {
      const end = await store.lastPosition();
      for (let after: Position = behind; after < end; ) {
        const page = await store.readLog({ after, pageMax: portPageMax, leaveSealed: true });
        yield page.events.filter(({ position }) => position <= end).map(storedEventOf);
        if (page.position <= after) return;
        after = page.position;
      }
    },
  };
}

/** The table itself: JSON stays text, and the next rows arrive while these are checked. */
export function postgresLog(pool: pg.Pool): LogSource {
  let head = 0;
  return {
    hasContiguousPositions: true,
    lastPosition: () => head,
    async *pages(behind = beginning) {
      const ends = await endsOf(pool);
      head = ends.head;
      const readAfter = (after: number) => rowsAfter(pool, after, ends.last);
      for (let next = readAfter(Number(behind)); ; ) {
        const rows = await next;
        const last = rows.at(-1);
        if (last === undefined) return;
        next = readAfter(Number(last.position));
        // Awaited above, unless the caller stops: its failure is then nobody's.
        next.catch(() => undefined);
        yield rows;
      }
    },
  };
}

/** The head by its own row, and the last event, which must be the same. One snapshot: appends change both at once. */
async function endsOf(pool: pg.Pool): Promise<{ readonly head: number; readonly last: number }> {
  const { rows } = await queried(
    pool.query<{ readonly head: string; readonly last: string }>(
      `SELECT coalesce((SELECT max(position) FROM event_log_head), 0)::text AS head,
        coalesce((SELECT max(position) FROM events), 0)::text AS last`,
    ),
  );
  return { head: Number(rows[0]?.head ?? 0), last: Number(rows[0]?.last ?? 0) };
}

const columns = [
  'e.position::text',
  'e.stream_id',
  'e.revision::text',
  'e.id::text',
  'e.type',
  'e.data::text',
  'e.metadata::text',
].join(', ');

async function rowsAfter(pool: pg.Pool, after: number, head: number): Promise<StoredEvent[]> {
  const { rows } = await queried(
    pool.query<string[]>({
      name: 'pis_audit_rows',
      text: `SELECT ${columns} FROM events e
        WHERE e.position > $1 AND e.position <= $2 ORDER BY e.position LIMIT $3`,
      values: [String(after), String(head), rowsMax],
      rowMode: 'array',
      query_timeout: queryTimeoutMs,
    } as pg.QueryArrayConfig),
  );
  return rows.map(
    ([position = '', streamId = '', revision, id = '', type = '', data = '', metadata = '']) => ({
      streamId,
      revision: Number(revision),
      position: position.padStart(20, '0'),
      id,
      type,
      data,
      metadata,
    }),
  );
}

async function queried<Result>(answer: Promise<Result>): Promise<Result> {
  try {
    return await answer;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new StoreUnavailable(`PostgreSQL: ${message}`, { cause: error });
  }
}
