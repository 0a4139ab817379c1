/**
 * Erasures from their request on, in the table `party_erasures`. `pis` writes a step as soon as it has taken
 * it, because executors ask the table before they claim a payment. The directory projection writes every step
 * that it reads in the log, so a row that is missing or left behind comes right by itself.
 *
 * The table is a hint: it says for whom the log must be asked. It never lacks an erasure that `pis` goes on
 * with.
 */
import type { ErasurePhase } from '@pis/domain';
import type { Position } from '@pis/event-store';
import { heldRows } from '@pis/postgres';
import type pg from 'pg';
import { orUnavailable } from './or-unavailable.js';

type Database = pg.ClientBase | pg.Pool;

export interface ErasureNotice {
  readonly kind: 'contact' | 'originator';
  readonly id: string;
  readonly phase: ErasurePhase | 'withdrawn';
  /** When the step was taken, ISO 8601. */
  readonly at: string;
  /** Of the step in the log. An older step than the one in the table changes nothing. */
  readonly position: Position;
}

/** An erasure that has not come to its end. */
export interface UnfinishedErasure {
  readonly kind: 'contact' | 'originator';
  readonly id: string;
  /** `rewriting`: the keys are destroyed, and copies in tables are not rewritten yet. */
  readonly phase: 'requested' | 'confirmed' | 'rewriting';
  /** When it was requested first, ISO 8601. */
  readonly since: string;
}

/** @throws StoreUnavailable when PostgreSQL is away */
export async function noteErasure(
  db: Database,
  { kind, id, phase, at, position }: ErasureNotice,
): Promise<void> {
  await orUnavailable(() =>
    db.query(
      `INSERT INTO party_erasures AS p (party_id, kind, phase, since, position)
       VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (party_id) DO UPDATE SET phase = excluded.phase, position = excluded.position,
         since = CASE WHEN p.phase IN ('requested', 'confirmed') THEN p.since ELSE excluded.since END
       WHERE p.position < excluded.position`,
      [id, kind, phase, at, position],
    ),
  );
}

export interface ErasuresAhead {
  /** A step of an erased party may be claimed. */
  readonly isDue: boolean;
  /** A confirmed erasure is about to be recorded. */
  readonly isExpected: boolean;
}

/** One query, because the worker asks often and mostly for nothing. Erasures requested before that time are not expected. */
export async function erasuresAhead(
  db: Database,
  requestedWithinMs: number,
): Promise<ErasuresAhead> {
  const { rows } = await db.query<ErasuresAhead>({
    name: 'party_erasures.ahead',
    text: `SELECT EXISTS (SELECT FROM erased_parties WHERE due_at <= now()) AS "isDue",
      EXISTS (SELECT FROM party_erasures
        WHERE phase = 'confirmed' AND since > now() - $1 * interval '1 ms') AS "isExpected"`,
    values: [requestedWithinMs],
  });
  const [row] = rows;
  if (row === undefined) throw new Error('PostgreSQL did not say whether erasures are due');
  return row;
}

/** All of them, the oldest first. */
export async function* unfinishedErasures(
  pool: pg.Pool,
): AsyncGenerator<UnfinishedErasure, void, undefined> {
  const rows = heldRows<Omit<UnfinishedErasure, 'since'> & { readonly since: Date }>(
    pool,
    `${unfinished} ORDER BY since, id`,
  );
  for await (const row of rows) yield { ...row, since: row.since.toISOString() };
}

export type ErasureCounts = Readonly<Record<UnfinishedErasure['phase'], number>>;

/** How many have not come to their end although they began longer ago than this. Together counted up to a maximum. */
export async function countUnfinishedErasures(
  db: Database,
  { olderThanMs, max }: { readonly olderThanMs: number; readonly max: number },
): Promise<ErasureCounts> {
  const { rows } = await db.query<{ phase: keyof ErasureCounts; count: number }>({
    name: 'unfinished_erasures.count',
    text: `SELECT phase, count(*)::int AS count FROM (SELECT phase FROM (${unfinished}) u
       WHERE u.since < now() - $1 * interval '1 ms' LIMIT $2) n GROUP BY phase`,
    values: [olderThanMs, max],
  });
  const counts = Object.fromEntries(rows.map(({ phase, count }) => [phase, count]));
  return { requested: 0, confirmed: 0, rewriting: 0, ...counts };
}

const unfinished = `
  SELECT kind, party_id AS id, phase, since FROM party_erasures WHERE phase IN ('requested', 'confirmed')
  UNION ALL
  SELECT kind, party_id, 'rewriting', erased_at FROM erased_parties WHERE passes = 0`;
