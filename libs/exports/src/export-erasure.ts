/**
 * Exports that may hold the personal data of an erased party. A complete file is given up. One that was begun begins
 * anew, from lists without the party. The files that were given up before may still be there: their keys are destroyed,
 * whomever they hold.
 */
import { inTransaction } from '@pis/postgres';
import type { Owner } from '@pis/keyring';
import { ownerOf } from '@pis/keyring';
import type pg from 'pg';
import { destroyKeysOfRemovals } from './export-removals.js';
import { anew } from './export-work.js';

export interface ErasedFromExports {
  readonly kind: 'contact' | 'originator';
  readonly id: string;
  readonly organizationId: string;
}

const columns = { contact: 'contact_id', originator: 'originator_id' } as const;

/**
 * Safe to repeat. The keys of the files are destroyed before this resolves; the worker of exports removes the bytes.
 * @returns how many files can be read no more: those that were given up now, and those that waited for their removal
 */
export async function releasePersonalExports(
  pool: pg.Pool,
  destroyKeys: (owners: readonly Owner[]) => Promise<void>,
  { kind, id, organizationId }: ErasedFromExports,
): Promise<number> {
  const fileIds = await inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ id: string; file_id: string }>(
      `SELECT e.id, e.file_id FROM exports e
        WHERE e.organization_id = $1 AND e.kind IN ('payments', 'movements')
          -- One that is queued again may have a stored part that does not belong to its file yet.
          AND (e.status IN ('running', 'completed') OR e.status = 'queued'
            AND EXISTS (SELECT FROM export_parts WHERE file_id = e.file_id))
          AND EXISTS (SELECT FROM payments p
            WHERE p.organization_id = $1 AND p.${columns[kind]} = $2
              AND (e.originator_id IS NULL OR p.originator_id = e.originator_id))
        FOR UPDATE`,
      [organizationId, id],
    );
    const ids = rows.map((row) => row.id);
    await client.query(
      `INSERT INTO export_removals (file_id) SELECT unnest($1::uuid[]) ON CONFLICT DO NOTHING`,
      [rows.map((row) => row.file_id)],
    );
    await client.query(
      `UPDATE exports SET file_id = gen_random_uuid(), status = 'queued', lease_id = NULL,
          leased_until = NULL, ${anew}
        WHERE id = ANY ($1::uuid[]) AND status IN ('queued', 'running')`,
      [ids],
    );
    await client.query(
      `UPDATE exports SET status = 'expired', expires_at = NULL,
          reason = 'the file held personal data that was erased'
        WHERE id = ANY ($1::uuid[]) AND status = 'completed'`,
      [ids],
    );
    return rows.map((row) => row.file_id);
  });
  await destroyKeys(fileIds.map((fileId) => ownerOf.exportFile(fileId)));
  return fileIds.length + (await destroyKeysOfRemovals(pool, destroyKeys));
}
