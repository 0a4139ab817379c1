/**
 * The archive of everything that goes to a bank and comes from it: files and messages, with their exact bytes.
 * What always holds: the same bytes over the same connection in the same direction are kept once, and what
 * belongs to a party is sealed under the party's key, so that erasing the party erases it here, too.
 *
 *   rail_files        one row for each file or message; SHA-256 and size of all its bytes
 *   rail_file_parts   its bytes in order, sealed
 */
import { createHash, randomUUID } from 'node:crypto';
import type { PaymentRail } from '@pis/domain';
import { KeyDestroyed, type Keyring, type Owner, ownerOf } from '@pis/keyring';
import { GroupCommit, inTransaction, isDataError } from '@pis/postgres';
import type pg from 'pg';

/** Part of a file. */
export interface ArchiveSegment {
  readonly bytes: Uint8Array;
  /** Whose personal data it holds; null for the archive's own key. */
  readonly owner: Owner | null;
  readonly paymentId: string | null;
}

export interface FileToKeep {
  /** The name of the connection to the bank. */
  readonly connection: string;
  readonly rail: PaymentRail;
  readonly way: 'out' | 'in';
  /** What it is: `nacha`, `ack`, `pacs.008` and so on. */
  readonly kind: string;
  /** Of the file, or the ID of the message. */
  readonly name: string;
  /** Together the exact bytes. */
  readonly segments: readonly ArchiveSegment[];
}

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

export interface ReadFile {
  readonly file: ArchivedFile;
  /** Erased parts are spaces of the same length. */
  readonly bytes: Uint8Array;
  readonly erasedBytes: number;
}

export interface KeptFile {
  readonly id: string;
  /** Whether these bytes were not kept before. */
  readonly isNew: boolean;
}

/** Every method @throws StoreUnavailable, or the error of the database, when they cannot be reached */
export interface FileArchive {
  /**
   * Keeps a file. Without `client` it is durable when this resolves; with one, it is part of that transaction.
   * Parts of an owner that was erased are not kept.
   * @returns its ID, and whether it is new: the same bytes may be kept already
   */
  keep(file: FileToKeep, client?: pg.ClientBase): Promise<KeptFile>;
  /** A file to keep later with `keepAll`. Sealing may read keys, which must not hold up a transaction. */
  seal(file: FileToKeep): Promise<SealedFile>;
  /** Keeps files in the caller's transaction. @returns as `keep`, in their order */
  keepAll(files: readonly SealedFile[], client: pg.ClientBase): Promise<readonly KeptFile[]>;
  /**
   * The exact bytes, to send them again.
   * @throws ArchiveErased when a part was erased, ArchiveAltered, CannotOpen
   */
  bytes(id: string): Promise<Uint8Array>;
  /** For people. Null when there is no such file. @throws ArchiveAltered, CannotOpen */
  read(id: string): Promise<ReadFile | null>;
  /** The newest first. */
  list(filter: ArchiveFilter): Promise<readonly ArchivedFile[]>;
}

export interface ArchiveFilter {
  /** Only files with a part of this payment. */
  readonly paymentId?: string;
  /** The ID of the last file of the page before. */
  readonly after?: string;
  readonly max: number;
}

/** Give up: an owner of a part was erased. */
export class ArchiveErased extends Error {
  override readonly name = 'ArchiveErased';
}

/** Give up: the archive does not have the bytes that were kept, or not the file. */
export class ArchiveAltered extends Error {
  override readonly name = 'ArchiveAltered';
}

/** Files in one statement. */
const filesMax = 200;
/** Of sealed text in one statement, roughly: one file may be larger. */
const batchMaxBytes = 4 * 1024 * 1024;
/** Parts in one statement, and in one page of a read. */
const partsMax = 2_000;
/** Parts that are sealed at once. */
const sealedAtOnce = 1_000;
const nameMax = 200;
/** In place of a sealed text whose owner was erased before the file came. */
const erased = '';

export interface SealedPart {
  readonly part: number;
  readonly owner: Owner;
  readonly sizeBytes: number;
  readonly sealed: string;
  readonly paymentId: string | null;
}

export interface SealedFile {
  /** Its ID, unless the same bytes are kept already. */
  readonly id: string;
  readonly file: FileToKeep;
  readonly sha256: Buffer;
  readonly sizeBytes: number;
  readonly parts: readonly SealedPart[];
}

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

const insertFiles = `WITH kept AS (
    INSERT INTO rail_files (id, connection, rail, way, kind, name, sha256, size_bytes)
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[], $8::int[])
      AS given (id, connection, rail, way, kind, name, sha256, size_bytes)
    -- In one order, so that two transactions that keep the same files cannot deadlock.
    ORDER BY connection, way, sha256
    ON CONFLICT ON CONSTRAINT rail_files_content_key DO NOTHING
    RETURNING id
  ), parts AS (
    INSERT INTO rail_file_parts (file_id, part, owner, size_bytes, sealed, payment_id)
    SELECT given.* FROM unnest($9::uuid[], $10::int[], $11::text[], $12::int[], $13::text[], $14::uuid[])
      AS given (file_id, part, owner, size_bytes, sealed, payment_id)
    JOIN kept ON kept.id = given.file_id
  )
  SELECT id FROM kept`;

const insertParts = `INSERT INTO rail_file_parts (file_id, part, owner, size_bytes, sealed, payment_id)
  SELECT * FROM unnest($1::uuid[], $2::int[], $3::text[], $4::int[], $5::text[], $6::uuid[])`;

export function fileArchive({
  pool,
  keyring,
}: {
  readonly pool: pg.Pool;
  readonly keyring: Pick<Keyring, 'seal' | 'openAll'>;
}): FileArchive {
  return new PgFileArchive(pool, keyring);
}

class PgFileArchive implements FileArchive {
  private readonly writes: GroupCommit<SealedFile, KeptFile>;

  constructor(
    private readonly pool: pg.Pool,
    private readonly keyring: Pick<Keyring, 'seal' | 'openAll'>,
  ) {
    this.writes = new GroupCommit({
      write: (files) => this.write(files),
      batchMax: filesMax,
      bytes: { batchMax: batchMaxBytes, of: ({ sizeBytes }) => sizeBytes },
      keyOf: ({ file, sha256 }) => `${file.connection}/${file.way}/${sha256.toString('hex')}`,
      isItemsFault: isDataError,
    });
  }

  async keep(file: FileToKeep, client?: pg.ClientBase): Promise<KeptFile> {
    const sealed = await this.seal(file);
    if (client === undefined) return this.writes.add(sealed);
    const [kept] = await insert(client, [sealed]);
    if (kept === undefined) throw new Error('a file was kept without a result');
    return kept;
  }

  keepAll(files: readonly SealedFile[], client: pg.ClientBase): Promise<readonly KeptFile[]> {
    return insert(client, files);
  }

  async bytes(id: string): Promise<Uint8Array> {
    const found = await this.read(id);
    if (found === null) throw new ArchiveAltered(`the archive has no file ${id}`);
    if (found.erasedBytes > 0)
      throw new ArchiveErased(`${found.erasedBytes} bytes of the archived file ${id} were erased`);
    return found.bytes;
  }

  async read(id: string): Promise<ReadFile | null> {
    const { rows } = await this.pool.query<FileRow>(
      `SELECT ${columns} FROM rail_files WHERE id = $1`,
      [id],
    );
    const [row] = rows;
    if (row === undefined) return null;
    const bytes = Buffer.alloc(row.size_bytes, ' ');
    let erasedBytes = 0;
    let at = 0;
    for await (const { sizeBytes, text } of this.partsOf(id)) {
      if (text === null) erasedBytes += sizeBytes;
      else if (Buffer.byteLength(text, 'latin1') !== sizeBytes) throw altered(id);
      else bytes.write(text, at, 'latin1');
      at += sizeBytes;
    }
    const isWhole = at === row.size_bytes;
    if (!isWhole || (erasedBytes === 0 && !sha256Of([bytes]).equals(row.sha256))) throw altered(id);
    return { file: fileOf(row), bytes, erasedBytes };
  }

  list(filter: ArchiveFilter): Promise<readonly ArchivedFile[]> {
    return listArchive(this.pool, filter);
  }

  async seal(file: FileToKeep): Promise<SealedFile> {
    const { segments } = file;
    const own = ownerOf.railArchive(`${file.connection}/${new Date().toISOString().slice(0, 7)}`);
    const id = randomUUID();
    const parts: SealedPart[] = [];
    for (let from = 0; from < segments.length; from += sealedAtOnce) {
      const some = segments.slice(from, from + sealedAtOnce);
      const sealed = await Promise.all(
        some.map(async ({ bytes, owner, paymentId }, index): Promise<SealedPart> => {
          // Latin-1 holds any byte, and costs nothing for ASCII.
          const text = Buffer.from(bytes).toString('latin1');
          return {
            part: from + index,
            owner: owner ?? own,
            sizeBytes: bytes.length,
            sealed: await this.sealOrErase(owner ?? own, text, placeOf(id, from + index)),
            paymentId,
          };
        }),
      );
      parts.push(...sealed);
    }
    const sizeBytes = segments.reduce((sum, { bytes }) => sum + bytes.length, 0);
    const sha256 = sha256Of(segments.map(({ bytes }) => bytes));
    return { id, file, sha256, sizeBytes, parts };
  }

  /** Files of the bank may speak of a party that was erased since. Nothing of it is kept. */
  private async sealOrErase(owner: Owner, text: string, place: string): Promise<string> {
    try {
      return await this.keyring.seal(owner, text, place);
    } catch (error) {
      if (error instanceof KeyDestroyed) return erased;
      throw error;
    }
  }

  private async write(files: readonly SealedFile[]): Promise<readonly KeptFile[]> {
    const partsCount = files.reduce((sum, { parts }) => sum + parts.length, 0);
    // One statement is a transaction by itself.
    return partsCount <= partsMax
      ? insert(this.pool, files)
      : inTransaction(this.pool, (client) => insert(client, files));
  }

  /** In order, opened; null where the owner was erased. */
  private async *partsOf(id: string): AsyncGenerator<{ sizeBytes: number; text: string | null }> {
    for (let last = -1; ; ) {
      const { rows } = await this.pool.query<{
        part: number;
        owner: Owner;
        size_bytes: number;
        sealed: string;
      }>(
        `SELECT part, owner, size_bytes, sealed FROM rail_file_parts
         WHERE file_id = $1 AND part > $2 ORDER BY part LIMIT ${partsMax}`,
        [id, last],
      );
      const sealed = rows
        .filter((row) => row.sealed !== erased)
        .map((row) => ({ ...row, place: placeOf(id, row.part) }));
      const texts = (await this.keyring.openAll(sealed)).values();
      for (const { part, size_bytes: sizeBytes, sealed: text } of rows) {
        // A part that is missing would move all others.
        if (part !== last + 1) throw altered(id);
        last = part;
        yield { sizeBytes, text: text === erased ? null : (texts.next().value ?? null) };
      }
      if (rows.length < partsMax) return;
    }
  }
}

/** As `FileArchive.list`: it needs no key. */
export async function listArchive(
  pool: pg.Pool,
  { paymentId, after, max }: ArchiveFilter,
): Promise<readonly ArchivedFile[]> {
  const values: (string | number)[] = [max];
  const conditions: string[] = [];
  if (paymentId !== undefined)
    conditions.push(
      `id IN (SELECT file_id FROM rail_file_parts WHERE payment_id = $${values.push(paymentId)})`,
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

/** Deletes files that were kept before this time, the oldest first, at most `max`. @returns how many */
export async function forgetArchived(pool: pg.Pool, before: Date, max: number): Promise<number> {
  const { rowCount } = await pool.query(
    `DELETE FROM rail_files WHERE id IN (
       SELECT id FROM rail_files WHERE created_at < $1 ORDER BY created_at LIMIT $2)`,
    [before, max],
  );
  return rowCount ?? 0;
}

/**
 * Deletes a file that was kept as `unreadable`, so that the same bytes can be kept as what they are, each part
 * under its owner's key.
 * @returns whether it was one
 */
export async function forgetUnreadable(client: pg.ClientBase, id: string): Promise<boolean> {
  const { rowCount } = await client.query(
    "DELETE FROM rail_files WHERE id = $1 AND kind = 'unreadable'",
    [id],
  );
  return rowCount === 1;
}

/** All of them or none, if `on` is in a transaction. */
async function insert(
  on: pg.Pool | pg.ClientBase,
  files: readonly SealedFile[],
): Promise<readonly KeptFile[]> {
  const parts = files.flatMap((file) => file.parts.map((part) => ({ ...part, fileId: file.id })));
  const first = parts.slice(0, partsMax);
  const { rows } = await on.query<{ id: string }>({
    name: 'pis_keep_rail_files',
    text: insertFiles,
    values: [
      files.map(({ id }) => id),
      files.map(({ file }) => file.connection),
      files.map(({ file }) => file.rail),
      files.map(({ file }) => file.way),
      files.map(({ file }) => file.kind),
      files.map(({ file }) => printable(file.name)),
      files.map(({ sha256 }) => sha256),
      files.map(({ sizeBytes }) => sizeBytes),
      ...columnsOf(first),
    ],
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
        : { id: await idOf(on, file), isNew: false },
    );
  return kept;
}

function columnsOf(parts: readonly (SealedPart & { readonly fileId: string })[]) {
  return [
    parts.map(({ fileId }) => fileId),
    parts.map(({ part }) => part),
    parts.map(({ owner }) => owner),
    parts.map(({ sizeBytes }) => sizeBytes),
    parts.map(({ sealed }) => sealed),
    parts.map(({ paymentId }) => paymentId),
  ];
}

/** Of the file with the same bytes. In a statement of its own, which sees what was committed meanwhile. */
async function idOf(on: pg.Pool | pg.ClientBase, { file, sha256 }: SealedFile): Promise<string> {
  const { rows } = await on.query<{ id: string }>(
    'SELECT id FROM rail_files WHERE connection = $1 AND way = $2 AND sha256 = $3',
    [file.connection, file.way, sha256],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the archived file was deleted while it was kept again');
  return row.id;
}

/** What a part is sealed for: it opens nowhere else. */
function placeOf(id: string, part: number): string {
  return `rail-file/${id}/${part}`;
}

function sha256Of(parts: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** The bank may have chosen it. */
function printable(name: string): string {
  return name.slice(0, nameMax).replace(/[^\x20-\x7e]/g, '?');
}

function altered(id: string): ArchiveAltered {
  return new ArchiveAltered(`the archived file ${id} is not what was kept`);
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
