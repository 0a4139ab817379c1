/**
 * What staff found about a transfer in the bank's books, in the transfer's row. The row may be missing: the database
 * was restored. Then it is made, so that the transfer is never sent, and a return of it is told.
 */
import type { Keyring } from '@pis/keyring';
import type pg from 'pg';
import type { FullBankAccount } from '../../bank-connection.js';
import { fileArchive } from '../../connections/file-archive.js';
import { isToSameAccount } from './credit-transfer.js';
import { uetrOf } from './identifiers.js';
import { sentMessageOf } from './iso-copies.js';
import type { IsoState } from './iso-transfers.js';
import type { IsoRail } from './messages.js';
import { profileOf } from './profiles.js';

/** Which amount was sent under a reference, minor units; null when that is not known. */
export async function amountOfIsoTransfer(
  pool: pg.Pool,
  { connection, reference }: { readonly connection: string; readonly reference: string },
): Promise<number | null> {
  const { rows } = await pool.query<{ amount: number | null }>(
    `SELECT (details->>'amountMinor')::float8 AS amount FROM iso_transfers
      WHERE connection = $1 AND reference = $2`,
    [connection, reference],
  );
  return rows[0]?.amount ?? null;
}

/** Whether a transfer pays this account, by its archived message; null when there is none any more. @throws StoreUnavailable */
export async function isToIsoAccount(
  { pool, keyring }: { readonly pool: pg.Pool; readonly keyring: Keyring },
  { connection, reference }: { readonly connection: string; readonly reference: string },
  contactAccount: FullBankAccount,
): Promise<boolean | null> {
  const { rows } = await pool.query<{ file_id: string; rail: IsoRail }>(
    `SELECT file_id, details->>'rail' AS rail FROM iso_transfers
      WHERE connection = $1 AND reference = $2 AND file_id IS NOT NULL AND details IS NOT NULL`,
    [connection, reference],
  );
  const [row] = rows;
  if (row === undefined) return null;
  const message = await sentMessageOf({ fileId: row.file_id }, fileArchive({ pool, keyring }));
  return message === null
    ? null
    : isToSameAccount(message, { contactAccount }, profileOf(row.rail));
}

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
