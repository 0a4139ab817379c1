/**
 * What staff found about a transfer in the bank's books, in the transfer's row. The row may be missing: the database
 * was restored. Then it is made, so that the transfer is never sent, and a return of it is told.
 */
import type pg from 'pg';
import { uetrOf } from './identifiers.js';
import type { IsoState } from './iso-transfers.js';

/** @returns the state of the transfer afterwards: another one than asked for contradicts what staff found */
export async function settleIsoTransfer(
  pool: pg.Pool,
  { connection, reference }: { readonly connection: string; readonly reference: string },
  as: 'executed' | 'never-sent',
): Promise<IsoState | null> {
  const state: IsoState = as === 'executed' ? 'accepted' : 'voided';
  const { rows } = await pool.query<{ state: IsoState }>(
    `INSERT INTO iso_transfers AS t (connection, reference, state, uetr) VALUES ($1, $2, $3, $4)
     ON CONFLICT ON CONSTRAINT iso_transfers_pkey DO UPDATE SET
       state = CASE WHEN excluded.state = 'accepted' OR t.state IN ('sending', 'received', 'held')
                    THEN excluded.state ELSE t.state END
     RETURNING t.state`,
    [connection, reference, state, uetrOf(reference)],
  );
  return rows[0]?.state ?? null;
}
