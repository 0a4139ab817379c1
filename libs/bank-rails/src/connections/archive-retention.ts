/**
 * What ends in the archive, and when. Parts that may speak of anybody are destroyed after `unmatchedKeptForDays`.
 * Files are deleted after the retention period, unless they may still be sent. Parts that speak of an erased party
 * are blanked. Everything is done some rows at a time, and can be repeated by several processes.
 */
import { type Owner, ownerOf } from '@pis/keyring';
import type pg from 'pg';
import { blank } from './archive-table.js';

export interface ArchiveEnds {
  readonly pool: pg.Pool;
  /** For good, and safe to repeat. */
  readonly destroyKeys: (owners: readonly Owner[]) => Promise<void>;
}

/** The file `f` may be sent again. */
const isUnsent = `EXISTS (SELECT FROM ach_files a
    WHERE a.bank = f.connection AND a.name = f.name AND a.archive_id = f.id::text AND a.status = 'recorded')`;
/** The bank of the file `f` must still be asked about its transfer. */
const isUnsettled = `EXISTS (SELECT FROM iso_transfers t
    WHERE t.connection = f.connection AND t.message_id = f.name AND t.file_id = f.id
      AND t.state IN ('sending', 'received', 'held'))`;

/** Finds the parts by their index: a file may have ten thousand others. */
const isOfFileAlone = (part: string) => `${part}owner LIKE 'railArchive:file/%'`;

/** Destroys what may speak of anybody, where its time has come and nobody needs it. At most `max` files. @returns how many */
export async function blankUnmatched(ends: ArchiveEnds, max: number): Promise<number> {
  const { rows } = await ends.pool.query<{ id: string }>(
    `SELECT id FROM rail_files f WHERE blank_at <= now() AND NOT ${isUnsent} ORDER BY blank_at LIMIT $1`,
    [max],
  );
  await blankFiles(
    ends,
    rows.map(({ id }) => id),
  );
  return rows.length;
}

/** The same for one file before its time. @returns whether it had such parts, and is not to be sent */
export async function blankUnmatchedFile(ends: ArchiveEnds, id: string): Promise<boolean> {
  const { rowCount } = await ends.pool.query(
    `SELECT 1 FROM rail_files f WHERE id = $1 AND blank_at IS NOT NULL AND NOT ${isUnsent}`,
    [id],
  );
  if (rowCount === 0) return false;
  await blankFiles(ends, [id]);
  return true;
}

/** The keys first: what dies here is done again. */
async function blankFiles({ pool, destroyKeys }: ArchiveEnds, ids: readonly string[]) {
  if (ids.length === 0) return;
  const owners = ids.map(ownerOf.railFile);
  await destroyKeys(owners);
  await pool.query(
    `WITH blanked AS (
       UPDATE rail_file_parts SET sealed = $3
        WHERE file_id = ANY ($1::uuid[]) AND owner = ANY ($2) AND ${isOfFileAlone('')}
     )
     UPDATE rail_files SET blank_at = NULL WHERE id = ANY ($1::uuid[])`,
    [ids, owners, blank],
  );
}

/** Deletes files that were kept before this time and are not needed, the oldest first. @returns how many */
export async function forgetArchived(
  { pool, destroyKeys }: ArchiveEnds,
  before: Date,
  max: number,
): Promise<number> {
  const { rows } = await pool.query<{ id: string; is_unmatched: boolean }>(
    `SELECT id, blank_at IS NOT NULL AS is_unmatched FROM rail_files f
      WHERE created_at < $1 AND NOT ${isUnsent} AND NOT ${isUnsettled} ORDER BY created_at LIMIT $2`,
    [before, max],
  );
  if (rows.length === 0) return 0;
  const unmatched = rows.filter((row) => row.is_unmatched);
  if (unmatched.length > 0) await destroyKeys(unmatched.map(({ id }) => ownerOf.railFile(id)));
  const { rowCount } = await pool.query(
    `DELETE FROM rail_files f WHERE id = ANY ($1::uuid[]) AND NOT ${isUnsent} AND NOT ${isUnsettled}`,
    [rows.map(({ id }) => id)],
  );
  return rowCount ?? 0;
}

/**
 * Deletes the keys of single files that are not there: files that were deleted, and files that were not kept after
 * all. Looks at one page of the keys, in the order of their owners. A file is kept within a day of its key.
 * @returns where the next page begins; null at the end
 */
export async function forgetFileKeys(
  { pool, destroyKeys }: ArchiveEnds,
  after: string,
  max: number,
): Promise<string | null> {
  const { rows } = await pool.query<{ owner: Owner; is_orphan: boolean; is_living: boolean }>(
    `SELECT k.owner, k.wrapped IS NOT NULL AS is_living,
            k.created_at < now() - interval '1 day' AND f.id IS NULL AS is_orphan
       FROM (SELECT owner, wrapped, created_at FROM data_keys
              WHERE owner LIKE 'railArchive:file/%' AND owner COLLATE "C" > $1
              ORDER BY owner COLLATE "C" LIMIT $2) k
       LEFT JOIN rail_files f ON f.id = ${fileIdOf('k.owner')}
      ORDER BY k.owner COLLATE "C"`,
    [after, max],
  );
  // A month's key of a connection with the name `file` is none of a file.
  const orphans = rows.filter((row) => row.is_orphan && isKeyOfFile.test(row.owner));
  const living = orphans.filter((row) => row.is_living);
  if (living.length > 0) await destroyKeys(living.map(({ owner }) => owner));
  if (orphans.length > 0)
    await pool.query('DELETE FROM data_keys WHERE owner = ANY ($1) AND destroyed_at IS NOT NULL', [
      orphans.map(({ owner }) => owner),
    ]);
  return rows.length === max ? (rows.at(-1)?.owner ?? null) : null;
}

const uuidPattern = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const isKeyOfFile = new RegExp(`^railArchive:file/${uuidPattern}$`);
const fileIdOf = (owner: string) =>
  `substring(${owner} FROM '^railArchive:file/(${uuidPattern})$')::uuid`;

/** How many files were kept before this time and are needed. */
export async function neededArchived(pool: pg.Pool, before: Date): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM rail_files f
      WHERE created_at < $1 AND (${isUnsent} OR ${isUnsettled})`,
    [before],
  );
  return rows[0]?.count ?? 0;
}

/**
 * Deletes a file that was kept as `unreadable`, so that the same bytes can be kept as what they are, each part
 * under its owner's key. The caller destroys the file's own key once this is committed.
 * @returns whether it was one
 */
export async function forgetUnreadable(client: pg.ClientBase, id: string): Promise<boolean> {
  const { rowCount } = await client.query(
    "DELETE FROM rail_files WHERE id = $1 AND kind = 'unreadable'",
    [id],
  );
  return rowCount === 1;
}

/**
 * Blanks the parts of these payments that speak of a party whose keys were destroyed. Messages speak of both
 * parties as a whole. In the files of earlier versions they may be sealed for the other party alone. The totals of
 * files that we sent with an entry of the party are destroyed: no such file can be sent again without the entry.
 */
export async function blankErased(
  ends: ArchiveEnds,
  { party, paymentIds }: { readonly party: Owner; readonly paymentIds: readonly string[] },
): Promise<void> {
  const { rows } = await ends.pool.query<{ id: string }>(
    `SELECT id FROM rail_files f
      WHERE id IN (SELECT file_id FROM rail_file_parts WHERE payment_id = ANY ($1::uuid[]) AND owner = $2)
        AND rail = 'ACH' AND way = 'out' AND blank_at IS NOT NULL`,
    [paymentIds, party],
  );
  await blankFiles(
    ends,
    rows.map(({ id }) => id),
  );
  await ends.pool.query(
    `UPDATE rail_file_parts p SET sealed = $3
       FROM rail_files f
      WHERE p.payment_id = ANY ($1::uuid[]) AND f.id = p.file_id AND p.sealed <> $3
        AND (f.rail <> 'ACH' OR p.owner = $2 OR p.second_owner = $2)`,
    [paymentIds, party, blank],
  );
}
