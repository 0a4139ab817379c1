/**
 * The files of an inbox that could not be read or removed. They are remembered in PostgreSQL, so that they are tried
 * again later and later, also by another process, and operators see how many there are.
 */
import type pg from 'pg';
import type { RemoteFile } from '../../connections/file-transport.js';
import { keepableText } from './ach-tables.js';

/** 'unread': its content is not known. 'kept': it was recorded, and could not be removed. */
export type StayingState = 'unread' | 'kept';

export interface StayingFile {
  readonly state: StayingState;
  /** It waits for its next try. */
  readonly isResting: boolean;
}

interface LookRow {
  readonly name: string | null;
  readonly state: StayingState | null;
  readonly is_resting: boolean;
}

/** The first repetition is at once: the cause may have been the connection. */
const retryMinMs = 60_000;
const retryMaxMs = 24 * 3_600_000;
/** A row outlives its file by so long, less seenExactMs: another process may look at the inbox a little earlier or later. */
const goneAfterMs = 600_000;
/** How far `seen_at` may lag: thousands of files may stay, and each would be written at each look. */
const seenExactMs = 300_000;
const problemMax = 200;

export class AchStayingFiles {
  /** Spares the statement while the inbox is empty. */
  private mayHaveRows = true;

  constructor(
    private readonly pool: pg.Pool,
    private readonly bank: string,
  ) {}

  /** The listed files that the table has, by name. */
  async among(listed: readonly RemoteFile[]): Promise<ReadonlyMap<string, StayingFile>> {
    if (listed.length === 0 && !this.mayHaveRows) return new Map();
    const { rows } = await this.pool.query<LookRow>({
      name: 'ach-inbox-look',
      text: lookSql,
      values: [this.bank, ...columnsOf(listed), goneAfterMs, seenExactMs],
    });
    this.mayHaveRows = rows.length > 0;
    return new Map(
      rows.flatMap(({ name, state, is_resting: isResting }) =>
        name === null || state === null ? [] : [[name, { state, isResting }]],
      ),
    );
  }

  /** @returns whether it is the first time with this file in this state */
  async add(file: RemoteFile, state: StayingState, error: unknown): Promise<boolean> {
    const problem = error instanceof Error ? error.message : String(error);
    this.mayHaveRows = true;
    const { rows } = await this.pool.query<{ tries: number }>({
      name: 'ach-inbox-stays',
      text: addSql,
      values: [
        ...[this.bank, file.name, file.sizeBytes, file.version, state],
        ...[keepableText(problem, problemMax), retryMinMs, retryMaxMs],
      ],
    });
    return rows[0]?.tries === 1;
  }

  /** It is out of the inbox. */
  async delete(name: string): Promise<void> {
    await this.pool.query({
      name: 'ach-inbox-left',
      text: 'DELETE FROM ach_inbox_files WHERE bank = $1 AND name = $2',
      values: [this.bank, name],
    });
  }
}

function columnsOf(files: readonly RemoteFile[]) {
  return [
    files.map(({ name }) => name),
    files.map(({ sizeBytes }) => sizeBytes),
    files.map(({ version }) => version),
  ];
}

/** A row with a null name says that the table has others. */
const lookSql = `
  WITH listed AS (
    SELECT * FROM unnest($2::text[], $3::bigint[], $4::text[]) AS l (name, size_bytes, version)
  ), seen AS (
    SELECT f.name, f.state, f.next_try_at > now() AS is_resting, f.seen_at FROM ach_inbox_files f
      JOIN listed l ON f.name = l.name AND f.size_bytes = l.size_bytes AND f.version = l.version
     WHERE f.bank = $1
  ), noted AS (
    UPDATE ach_inbox_files f SET seen_at = now() FROM seen
     WHERE f.bank = $1 AND f.name = seen.name AND seen.seen_at < now() - $6 * interval '1 millisecond'
  ), gone AS (
    DELETE FROM ach_inbox_files f
     WHERE f.bank = $1 AND f.seen_at < now() - $5 * interval '1 millisecond'
       AND NOT EXISTS (SELECT FROM listed l WHERE l.name = f.name)
  )
  SELECT name, state, is_resting FROM seen
  UNION ALL
  SELECT NULL, NULL, false WHERE EXISTS (SELECT FROM ach_inbox_files WHERE bank = $1)`;

const isSame =
  '(f.size_bytes, f.version, f.state) = (excluded.size_bytes, excluded.version, excluded.state)';

/** The column has milliseconds: now() alone may be rounded to a time that has not come yet. */
const atOnce = "date_trunc('milliseconds', now())";

const addSql = `
  INSERT INTO ach_inbox_files AS f (bank, name, size_bytes, version, state, problem, since, seen_at, tries, next_try_at)
  VALUES ($1, $2, $3, $4, $5, $6, now(), now(), 1, ${atOnce})
  ON CONFLICT (bank, name) DO UPDATE SET
    size_bytes = excluded.size_bytes, version = excluded.version, state = excluded.state,
    problem = excluded.problem, seen_at = now(),
    since = CASE WHEN ${isSame} THEN f.since ELSE now() END,
    tries = CASE WHEN ${isSame} THEN f.tries + 1 ELSE 1 END,
    next_try_at = CASE WHEN ${isSame}
      THEN now() + least($7 * power(2, least(f.tries - 1, 20)), $8) * interval '1 millisecond' ELSE ${atOnce} END
  RETURNING tries`;
