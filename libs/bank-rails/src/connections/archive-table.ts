/** The tables of the archive: rail_files and rail_file_parts. Nothing here knows a key. */
import type { PaymentRail } from '@pis/domain';
import type { Owner } from '@pis/keyring';
import { binaryArray, ofAnyLength, textArray, uuidArray } from '@pis/postgres';
import type pg from 'pg';

export interface ArchivedFile {
  readonly id: string;
  readonly connection: string;
  readonly rail: PaymentRail;
  readonly way: 'out' | 'in';
  readonly kind: string;
  readonly name: string;
  /** Hex, of the bytes as they were sent or received. */
  readonly sha256: string;
  readonly sizeBytes: number;
  /** ISO 8601 with milliseconds. */
  readonly createdAt: string;
}

export interface ArchiveFilter {
  /** Only files with a part of this payment, and the answers to them. */
  readonly paymentId?: string;
  /** The ID of the last file of the page before. */
  readonly after?: string;
  readonly max: number;
}

export interface SealedPart {
  readonly part: number;
  readonly owner: Owner;
  readonly secondOwner: Owner | null;
  readonly sizeBytes: number;
  readonly sealed: string;
  readonly paymentId: string | null;
}

export interface SealedFile
  extends Pick<
    ArchivedFile,
    'id' | 'connection' | 'rail' | 'way' | 'kind' | 'name' | 'sha256' | 'sizeBytes'
  > {
  readonly parts: readonly SealedPart[];
  /** Whether it has parts that may speak of anybody. They end after `unmatchedKeptForDays`. */
  readonly isUnmatched: boolean;
}

export interface KeptFile {
  readonly id: string;
  /** Whether these bytes were not kept before. */
  readonly isNew: boolean;
}

/** Parts in one statement, and in one page of a read. */
export const partsMax = 2_000;
/** How long parts are kept that may speak of anybody. Returns come within 60 days of the settlement. */
export const unmatchedKeptForDays = 180;
/** In place of a sealed text that was destroyed, or whose owner was erased before the file came. */
export const blank = '';
const nameMax = 200;

interface FileRow {
  readonly id: string;
  readonly connection: string;
  readonly rail: PaymentRail;
  readonly way: 'out' | 'in';
  readonly kind: string;
  readonly name: string;
  readonly sha256: Buffer;
  readonly size_bytes: number;
  readonly created_at: Date;
}

const columns = 'id, connection, rail, way, kind, name, sha256, size_bytes, created_at';
const partColumns = 'file_id, part, owner, second_owner, size_bytes, sealed, payment_id';

/**
 * Two parts of a WITH clause that keep files: `kept`, with the `id` of each new one, and `parts`. They belong to the
 * statement of the caller, so that the files are kept with what else it writes.
 * @param first the number of the first of `keepingValues`
 * @param only a condition on the `id` of a file
 * @param repeated what happens to a file whose bytes are kept already: it is left out, or the statement fails, see
 *   isKeptAlready
 */
export function keepingFiles(
  first: number,
  { only = 'true', repeated = 'skip' }: { only?: string; repeated?: 'skip' | 'fail' } = {},
): string {
  const value = (index: number): string => `$${first + index}`;
  return `kept AS (
    INSERT INTO rail_files (id, connection, rail, way, kind, name, sha256, size_bytes, blank_at)
    SELECT id, connection, rail, way, kind, name, decode(sha256, 'hex'), size_bytes,
           CASE WHEN is_unmatched THEN now() + ${value(9)} * interval '1 day' END
      FROM unnest(${ofAnyLength(`${value(0)}::uuid[]`)}, ${value(1)}::text[], ${value(2)}::text[],
                  ${value(3)}::text[], ${value(4)}::text[], ${value(5)}::text[], ${value(6)}::text[], ${value(7)}::int[],
                  ${value(8)}::boolean[])
        AS given (id, connection, rail, way, kind, name, sha256, size_bytes, is_unmatched)
     WHERE ${only}
     -- In one order, so that two transactions that keep the same files cannot deadlock.
     ORDER BY connection, way, sha256
    ${repeated === 'skip' ? 'ON CONFLICT ON CONSTRAINT rail_files_content_key DO NOTHING' : ''}
    RETURNING id
  ), parts AS (
    INSERT INTO rail_file_parts (${partColumns})
    SELECT given.* FROM unnest(${ofAnyLength(`${value(10)}::uuid[]`)}, ${value(11)}::int[], ${value(12)}::text[],
                               ${value(13)}::text[], ${value(14)}::int[], ${value(15)}::text[],
                               ${value(16)}::uuid[]) AS given (${partColumns})
    JOIN kept ON kept.id = given.file_id
  )`;
}

/** The error of a statement that keeps files that are `repeated`. */
export function isKeptAlready(error: unknown): boolean {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  return code === '23505' && constraint === 'rail_files_content_key';
}

export function partsOf(files: readonly SealedFile[]): readonly FilePart[] {
  return files.flatMap((file) => file.parts.map((part) => ({ ...part, fileId: file.id })));
}

type FilePart = SealedPart & { readonly fileId: string };

/** @param parts of the files: `partsMax` at most */
export function keepingValues(files: readonly SealedFile[], parts: readonly FilePart[]): unknown[] {
  return [
    uuidArray(files.map(({ id }) => id)),
    textArray(files.map(({ connection }) => connection)),
    textArray(files.map(({ rail }) => rail)),
    textArray(files.map(({ way }) => way)),
    textArray(files.map(({ kind }) => kind)),
    textArray(files.map(({ name }) => printable(name))),
    textArray(files.map(({ sha256 }) => sha256)),
    textArray(files.map(({ sizeBytes }) => sizeBytes)),
    textArray(files.map(({ isUnmatched }) => isUnmatched)),
    unmatchedKeptForDays,
    ...columnsOf(parts),
  ];
}

const insertFiles = `WITH ${keepingFiles(1)} SELECT id FROM kept`;

const insertParts = `INSERT INTO rail_file_parts (${partColumns})
  SELECT * FROM unnest($1::uuid[], $2::int[], $3::text[], $4::text[], $5::int[], $6::text[], $7::uuid[])`;

/** All of them or none, if `on` is in a transaction. */
export async function insertSealed(
  on: pg.Pool | pg.ClientBase,
  files: readonly SealedFile[],
): Promise<readonly KeptFile[]> {
  const parts = partsOf(files);
  const { rows } = await on.query<{ id: string }>({
    name: 'pis_keep_rail_files',
    text: insertFiles,
    values: keepingValues(files, parts.slice(0, partsMax)),
  });
  const isNew = new Set(rows.map(({ id }) => id));
  const rest = parts.slice(partsMax).filter(({ fileId }) => isNew.has(fileId));
  for (let from = 0; from < rest.length; from += partsMax)
    await on.query(insertParts, columnsOf(rest.slice(from, from + partsMax)));
  const kept: KeptFile[] = [];
  for (const file of files)
    kept.push(
      isNew.has(file.id)
        ? { id: file.id, isNew: true }
        : { id: await existingId(on, file), isNew: false },
    );
  return kept;
}

function columnsOf(parts: readonly FilePart[]) {
  return [
    uuidArray(parts.map(({ fileId }) => fileId)),
    textArray(parts.map(({ part }) => part)),
    textArray(parts.map(({ owner }) => owner)),
    textArray(parts.map(({ secondOwner }) => secondOwner)),
    textArray(parts.map(({ sizeBytes }) => sizeBytes)),
    binaryArray(
      'text',
      parts.map(({ sealed }) => sealed),
    ),
    uuidArray(parts.map(({ paymentId }) => paymentId)),
  ];
}

/** In a statement of its own, which sees what was committed meanwhile. */
async function existingId(
  on: pg.Pool | pg.ClientBase,
  file: Pick<SealedFile, 'connection' | 'way' | 'sha256'>,
): Promise<string> {
  const id = await idOfContent(on, file);
  if (id === null) throw new Error('the archived file was deleted while it was kept again');
  return id;
}

/** The file with the same bytes over the same connection. */
export async function idOfContent(
  on: pg.Pool | pg.ClientBase,
  { connection, way, sha256 }: Pick<SealedFile, 'connection' | 'way' | 'sha256'>,
): Promise<string | null> {
  const { rows } = await on.query<{ id: string }>(
    "SELECT id FROM rail_files WHERE connection = $1 AND way = $2 AND sha256 = decode($3, 'hex')",
    [connection, way, sha256],
  );
  return rows[0]?.id ?? null;
}

export async function findArchived(pool: pg.Pool, id: string): Promise<ArchivedFile | null> {
  const { rows } = await pool.query<FileRow>(`SELECT ${columns} FROM rail_files WHERE id = $1`, [
    id,
  ]);
  return rows[0] === undefined ? null : fileOf(rows[0]);
}

/** The parts behind `after`, in order, at most `partsMax`. */
export async function partsBehind(
  pool: pg.Pool,
  id: string,
  after: number,
): Promise<readonly Omit<SealedPart, 'paymentId'>[]> {
  const { rows } = await pool.query<{
    part: number;
    owner: Owner;
    second_owner: Owner | null;
    size_bytes: number;
    sealed: string;
  }>(
    `SELECT part, owner, second_owner, size_bytes, sealed FROM rail_file_parts
      WHERE file_id = $1 AND part > $2 ORDER BY part LIMIT ${partsMax}`,
    [id, after],
  );
  return rows.map(({ part, owner, second_owner: secondOwner, size_bytes: sizeBytes, sealed }) => ({
    ...{ part, owner, secondOwner, sizeBytes, sealed },
  }));
}

/** Notes which file of ours a file of the bank answers as a whole. */
export async function noteAnswer(
  client: pg.ClientBase,
  { id, answeredId }: { readonly id: string; readonly answeredId: string },
): Promise<void> {
  await client.query(
    `UPDATE rail_files SET answered_id = o.id FROM (SELECT id FROM rail_files WHERE id = $2 FOR KEY SHARE) o
      WHERE rail_files.id = $1`,
    [id, answeredId],
  );
}

/** The newest first. It needs no key. */
export async function listArchive(
  pool: pg.Pool,
  { paymentId, after, max }: ArchiveFilter,
): Promise<readonly ArchivedFile[]> {
  const values: (string | number)[] = [max];
  const conditions: string[] = [];
  if (paymentId !== undefined)
    conditions.push(
      `id IN (WITH own AS (SELECT file_id FROM rail_file_parts WHERE payment_id = $${values.push(paymentId)})
              SELECT file_id FROM own
              UNION SELECT id FROM rail_files WHERE answered_id IN (SELECT file_id FROM own))`,
    );
  if (after !== undefined)
    conditions.push(`place < (SELECT place FROM rail_files WHERE id = $${values.push(after)})`);
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const { rows } = await pool.query<FileRow>(
    `SELECT ${columns} FROM rail_files ${where} ORDER BY place DESC LIMIT $1`,
    values,
  );
  return rows.map(fileOf);
}

/** The bank may have chosen it. */
function printable(name: string): string {
  return name.slice(0, nameMax).replace(/[^\x20-\x7e]/g, '?');
}

function fileOf(row: FileRow): ArchivedFile {
  const { id, connection, rail, way, kind, name } = row;
  return {
    ...{ id, connection, rail, way, kind, name },
    sha256: row.sha256.toString('hex'),
    sizeBytes: row.size_bytes,
    createdAt: row.created_at.toISOString(),
  };
}
