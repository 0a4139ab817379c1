/** Figures of the table of exports, for metrics. */
import { orUnavailable } from '@pis/read-models';
import type pg from 'pg';
import { failuresMax } from './export-worker.js';

export interface ExportFigures {
  readonly queued: number;
  readonly running: number;
  /** Given up after `failuresMax` attempts in the last 24 hours. Files that were too large are not counted. */
  readonly failed: number;
  /**
   * The longest wait in an organization of which no export is written now. A queue behind a running export is none.
   * While the store of documents is away or refuses, no export is written.
   */
  readonly waitingSeconds: number;
}

/** Organizations have a few open exports each, and the records of exports are kept for days: no count is long. */
const figures = `
  WITH open AS (
    SELECT organization_id, status,
        status = 'running' AND leased_until > now() AND held_up_since IS NULL AS is_written,
        now() - CASE WHEN status = 'running' THEN coalesce(held_up_since, leased_until)
          ELSE requested_at END AS waited
      FROM exports WHERE status IN ('queued', 'running')
  ), waiting AS (
    SELECT max(waited) AS longest FROM open GROUP BY organization_id
      HAVING NOT bool_or(coalesce(is_written, false))
  )
  SELECT (SELECT count(*)::int FROM open WHERE status = 'queued') AS queued,
    (SELECT count(*)::int FROM open WHERE status = 'running') AS running,
    (SELECT count(*)::int FROM exports WHERE status = 'failed' AND failures >= $1
      AND finished_at > now() - interval '24 hours') AS failed,
    (SELECT greatest(coalesce(max(extract(epoch FROM longest)), 0), 0)::float8 FROM waiting)
      AS "waitingSeconds"`;

/** @throws StoreUnavailable */
export async function exportFigures(pool: pg.Pool): Promise<ExportFigures> {
  const { rows } = await orUnavailable(() =>
    pool.query<ExportFigures>({ name: 'exports.figures', text: figures, values: [failuresMax] }),
  );
  const [found] = rows;
  if (found === undefined) throw new Error('the exports were not counted');
  return found;
}
