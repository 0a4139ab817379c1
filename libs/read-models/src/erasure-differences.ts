/**
 * What differs between the live table `party_erasures` and its copy that was built from the log.
 *
 * `pis` writes a step there ahead of the projection, and only since the table exists. So a live row is compared if its
 * step is one that the copy has read, and the copy's row only if it keeps payments from being sent: an erasure under way.
 */
import type { Position } from '@pis/event-store';
import type pg from 'pg';
import type { ReadModelDifference } from './table-differences.js';

const table = 'party_erasures';
const differencesMax = 100_000;

interface Positions {
  /** Up to which the copy was built. */
  readonly copied: Position;
  /** Of the last event of the log, read after the snapshot: no step is beyond it. */
  readonly end: Position;
}

/**
 * Inside a transaction with one snapshot.
 * @param schema of the live table
 */
export async function erasureDifferences(
  client: pg.ClientBase,
  schema: string,
  { copied, end }: Positions,
): Promise<readonly ReadModelDifference[]> {
  const { rows } = await client.query<{ row: string; column: string | null; differs: string }>(
    `SELECT coalesce(live.party_id, copy.party_id)::text AS row,
       CASE WHEN live.party_id IS NULL OR copy.party_id IS NULL OR live.position > $1 THEN NULL
         WHEN live.phase <> copy.phase THEN 'phase' WHEN live.kind <> copy.kind THEN 'kind'
         ELSE 'position' END AS column,
       CASE WHEN live.party_id IS NULL THEN 'the row is missing'
         WHEN live.position > $1 THEN 'the log has no such step'
         WHEN copy.party_id IS NULL THEN 'the log has no such row'
         ELSE 'it is not what the log says' END AS differs
     FROM ${schema}.${table} live FULL JOIN pg_temp.${table} copy USING (party_id)
     WHERE (live.party_id IS NULL AND copy.phase IN ('requested', 'confirmed'))
       OR live.position > $2
       OR (live.position <= $1
         AND (live.kind, live.phase, live.position) IS DISTINCT FROM (copy.kind, copy.phase, copy.position))
     ORDER BY 1 LIMIT $3`,
    [copied, end, differencesMax],
  );
  return rows.map((found) => ({ table, ...found }));
}
