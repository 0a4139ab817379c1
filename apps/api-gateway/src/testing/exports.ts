/** Writes the files of exports in tests, where no worker runs. */
import { ExportFiles, ExportWorker, pieceSources } from '@pis/exports';
import { PG_POOL } from '@pis/service-kit';
import type pg from 'pg';
import { type Gateway, keyring } from './gateway.js';

export async function writeExports({ app }: Gateway): Promise<void> {
  const pool = app.get<pg.Pool>(PG_POOL);
  const worker = new ExportWorker({
    pool,
    files: app.get(ExportFiles),
    sources: pieceSources(pool),
    progressOf: () => null,
    isHeld: () => Promise.resolve(false),
    destroyKeys: (owners) => keyring.destroy(owners),
    onFailure: (error) => {
      throw error;
    },
    onRemovalFailure: (error) => {
      throw error;
    },
  });
  const open = "SELECT FROM exports WHERE status IN ('queued', 'running')";
  while (((await pool.query(open)).rowCount ?? 0) > 0) await worker.round();
}
