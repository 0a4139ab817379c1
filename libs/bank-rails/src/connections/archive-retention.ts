/**
 * What ends in the archive, and when. Parts that may speak of anybody are destroyed after `unmatchedKeptForDays`.
 * Files are deleted after their retention period, unless they may still be sent. Parts that speak of an erased party
 * are blanked. Everything is done some rows at a time, and can be repeated by several processes.
 *
 * A file is kept for the longest of the retention periods of the organizations whose payments it names. Payments and
 * organizations are looked up in the lists. A file that names no payment, or one that the lists do not have, may be
 * about any organization: it is kept for the longest period of all.
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

export interface FilesToForget {
  /** Files that were kept before this time alone. */
  readonly before: Date;
  /** Of organizations that have no retention period of their own. */
  readonly defaultYears: number;
  readonly shortestYears: number;
  readonly longestYears: number;
}

/** Where a page of files begins: after this one. */
export interface FileCursor {
  /** With all milliseconds. */
  readonly createdAt: Date;
  readonly id: string;
}

const yearsAgo = (years: string) => `now() - make_interval(years => ${years})`;
/** The retention period of the file `f` has ended. Placeholders: the default and the longest period. */
const isPastRetention = (defaultYears: string, longestYears: string) => `(
  f.created_at < ${yearsAgo(longestYears)} OR (
    EXISTS (SELECT FROM rail_file_parts p WHERE p.file_id = f.id AND p.payment_id IS NOT NULL)
    AND NOT EXISTS (
      SELECT FROM rail_file_parts p
        LEFT JOIN payments y ON y.payment_id = p.payment_id
        LEFT JOIN organizations o ON o.organization_id = y.organization_id
       WHERE p.file_id = f.id AND p.payment_id IS NOT NULL AND f.created_at >= ${yearsAgo(`
         CASE WHEN o.organization_id IS NULL THEN ${longestYears}
              ELSE coalesce(o.retention_years, ${defaultYears}) END`)})))`;
/** Together, in one page. One file may be larger. An ACH file has about 10,000 payments in a megabyte. */
const pageMaxBytes = 4 * 1024 * 1024;

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

/**
 * Looks at one page of the files that may have ended, the oldest first, and deletes those that have and that are not
 * needed.
 * @returns how many, and where the next page begins; null at the end
 */
export async function forgetArchived(
  { pool, destroyKeys }: ArchiveEnds,
  { before, defaultYears, shortestYears, longestYears }: FilesToForget,
  { after, max }: { readonly after: FileCursor | null; readonly max: number },
): Promise<{ readonly forgotten: number; readonly next: FileCursor | null }> {
  const { rows } = await pool.query<{
    readonly id: string;
    readonly created_at: Date;
    readonly found: number;
    readonly has_ended: boolean;
    readonly is_unmatched: boolean;
  }>(
    `SELECT id, created_at, found, blank_at IS NOT NULL AS is_unmatched,
            NOT ${isUnsent} AND NOT ${isUnsettled} AND ${isPastRetention('$1', '$2')} AS has_ended
       FROM (SELECT c.*, count(*) OVER ()::int AS found,
                    sum(size_bytes) OVER (ORDER BY created_at, id) - size_bytes AS bytes_before
               FROM (SELECT id, connection, name, size_bytes, created_at, blank_at FROM rail_files
                      WHERE created_at < least($4, ${yearsAgo('$3')})
                        AND ($5::timestamptz IS NULL OR (created_at, id) > ($5, $6::uuid))
                      ORDER BY created_at, id LIMIT $7) c) f
      WHERE bytes_before < $8 ORDER BY created_at, id`,
    [
      ...[defaultYears, longestYears, shortestYears, before],
      ...[after?.createdAt ?? null, after?.id ?? null, max, pageMaxBytes],
    ],
  );
  const last = rows.at(-1);
  const isEnd = last === undefined || (last.found < max && rows.length === last.found);
  const next = isEnd ? null : { createdAt: last.created_at, id: last.id };
  const ended = rows.filter((row) => row.has_ended);
  if (ended.length === 0) return { forgotten: 0, next };
  const unmatched = ended.filter((row) => row.is_unmatched);
  if (unmatched.length > 0) await destroyKeys(unmatched.map(({ id }) => ownerOf.railFile(id)));
  const { rowCount } = await pool.query(
    `DELETE FROM rail_files f
      WHERE id = ANY ($3::uuid[]) AND NOT ${isUnsent} AND NOT ${isUnsettled} AND ${isPastRetention('$1', '$2')}`,
    [defaultYears, longestYears, ended.map(({ id }) => id)],
  );
  return { forgotten: rowCount ?? 0, next };
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

/** Why files that were kept before a time are still there. */
export interface ArchivedLeft {
  /** They may still be sent, or the bank must be asked about their transfer. */
  readonly needed: number;
  /** Their retention period has not ended. */
  readonly retained: number;
}

export async function archivedLeft(pool: pg.Pool, before: Date): Promise<ArchivedLeft> {
  const { rows } = await pool.query<ArchivedLeft>(
    `SELECT count(*) FILTER (WHERE is_needed)::int AS needed,
            count(*) FILTER (WHERE NOT is_needed)::int AS retained
       FROM (SELECT ${isUnsent} OR ${isUnsettled} AS is_needed FROM rail_files f WHERE created_at < $1) l`,
    [before],
  );
  return rows[0] ?? { needed: 0, retained: 0 };
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
