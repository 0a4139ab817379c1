/**
 * The archive of everything that goes to a bank and comes from it: exact bytes, in parts that are sealed. A part
 * is sealed under the key of whoever it speaks of, so that erasing the party erases the part:
 *
 *   owner                 a contact or an originator
 *   owner + secondOwner   sealed twice: it is lost with either key
 *   'file'                it may speak of anybody: a key of this file alone, destroyed after some months
 *   null                  it speaks of nobody: the archive's own key
 */
import { createHash } from 'node:crypto';
import { type Owner, ownerOf } from '@pis/keyring';
import { GroupCommit, inTransaction, isDataError, orderedUuid } from '@pis/postgres';
import type pg from 'pg';
import {
  type ArchivedFile,
  type ArchiveFilter,
  findArchived,
  idOfContent,
  insertSealed,
  type KeptFile,
  listArchive,
  partsBehind,
  partsMax,
  type SealedFile,
  type SealedPart,
} from './archive-table.js';
import { openParts, type PartKeyring, sealPart } from './sealed-parts.js';

export type { KeptFile, SealedFile, SealedPart } from './archive-table.js';

/** Part of a file. */
export interface ArchiveSegment {
  readonly bytes: Uint8Array;
  /** Whose personal data it holds. `file`: it may speak of anybody. Null: of nobody. */
  readonly owner: Owner | 'file' | null;
  /** The other party that it speaks of. */
  readonly secondOwner?: Owner;
  readonly paymentId: string | null;
  /**
   * Whether its bytes are compressed. The release before opens no compressed part. An ACH file may have to be sent
   * again from the archive, also by a process of that release, so its parts are not. Default: false.
   */
  readonly isCompressed?: boolean;
}

export interface FileToKeep
  extends Pick<
    ArchivedFile,
    /** `kind`: `nacha`, `ack`, `pacs.008` and so on. `name`: of the file, or the ID of the message. */
    'connection' | 'rail' | 'way' | 'kind' | 'name'
  > {
  /** Together the exact bytes. */
  readonly segments: readonly ArchiveSegment[];
}

export interface ReadFile {
  readonly file: ArchivedFile;
  /** Erased parts are spaces of the same length. */
  readonly bytes: Uint8Array;
  readonly erasedBytes: number;
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
/** Parts that are sealed at once. */
const sealedAtOnce = 1_000;

export function fileArchive({
  pool,
  keyring,
}: {
  readonly pool: pg.Pool;
  readonly keyring: PartKeyring;
}): FileArchive {
  return new PgFileArchive(pool, keyring);
}

class PgFileArchive implements FileArchive {
  private readonly writes: GroupCommit<SealedFile, KeptFile>;

  constructor(
    private readonly pool: pg.Pool,
    private readonly keyring: PartKeyring,
  ) {
    this.writes = new GroupCommit({
      write: (files) => this.write(files),
      batchMax: filesMax,
      bytes: { batchMax: batchMaxBytes, of: ({ sizeBytes }) => sizeBytes },
      keyOf: ({ connection, way, sha256 }) => `${connection}/${way}/${sha256}`,
      isItemsFault: isDataError,
    });
  }

  async keep(file: FileToKeep, client?: pg.ClientBase): Promise<KeptFile> {
    if (isUnmatched(file)) {
      // A key of its own is made for a new file only.
      const id = await idOfContent(client ?? this.pool, { ...file, sha256: sha256In(file) });
      if (id !== null) return { id, isNew: false };
    }
    const sealed = await this.seal(file);
    if (client === undefined) return this.writes.add(sealed);
    const [kept] = await insertSealed(client, [sealed]);
    if (kept === undefined) throw new Error('a file was kept without a result');
    return kept;
  }

  async seal(file: FileToKeep): Promise<SealedFile> {
    const { connection, rail, way, kind, name, segments } = file;
    const id = orderedUuid();
    return {
      ...{ id, connection, rail, way, kind, name },
      sha256: sha256In(file),
      sizeBytes: segments.reduce((sum, { bytes }) => sum + bytes.length, 0),
      isUnmatched: isUnmatched(file),
      parts: await this.sealParts(id, file),
    };
  }

  keepAll(files: readonly SealedFile[], client: pg.ClientBase): Promise<readonly KeptFile[]> {
    return insertSealed(client, files);
  }

  async bytes(id: string): Promise<Uint8Array> {
    const found = await this.read(id);
    if (found === null) throw new ArchiveAltered(`the archive has no file ${id}`);
    if (found.erasedBytes > 0)
      throw new ArchiveErased(`${found.erasedBytes} bytes of the archived file ${id} were erased`);
    return found.bytes;
  }

  async read(id: string): Promise<ReadFile | null> {
    const file = await findArchived(this.pool, id);
    if (file === null) return null;
    const bytes = Buffer.alloc(file.sizeBytes, ' ');
    let erasedBytes = 0;
    let at = 0;
    for await (const { sizeBytes, part } of this.partsOf(id)) {
      if (part === null) erasedBytes += sizeBytes;
      else if (part.length !== sizeBytes) throw altered(id);
      else part.copy(bytes, at);
      at += sizeBytes;
    }
    const isWhole = at === file.sizeBytes;
    if (!isWhole || (erasedBytes === 0 && sha256Of([bytes]) !== file.sha256)) throw altered(id);
    return { file, bytes, erasedBytes };
  }

  list(filter: ArchiveFilter): Promise<readonly ArchivedFile[]> {
    return listArchive(this.pool, filter);
  }

  private async sealParts(id: string, file: FileToKeep): Promise<readonly SealedPart[]> {
    const { connection, segments } = file;
    const own = ownerOf.railArchive(`${connection}/${new Date().toISOString().slice(0, 7)}`);
    const parts: SealedPart[] = [];
    for (let from = 0; from < segments.length; from += sealedAtOnce) {
      const some = segments.slice(from, from + sealedAtOnce);
      const sealed = await Promise.all(
        some.map(async (segment, index): Promise<SealedPart> => {
          const { bytes, paymentId, secondOwner = null, isCompressed = false } = segment;
          const owner = segment.owner === 'file' ? ownerOf.railFile(id) : (segment.owner ?? own);
          const part = from + index;
          const sealed = await sealPart(this.keyring, {
            ...{ owner, secondOwner, bytes, isCompressed },
            place: placeOf(id, part),
          });
          return { part, owner, secondOwner, paymentId, sizeBytes: bytes.length, sealed };
        }),
      );
      parts.push(...sealed);
    }
    return parts;
  }

  private async write(files: readonly SealedFile[]): Promise<readonly KeptFile[]> {
    const partsCount = files.reduce((sum, { parts }) => sum + parts.length, 0);
    // One statement is a transaction by itself.
    return partsCount <= partsMax
      ? insertSealed(this.pool, files)
      : inTransaction(this.pool, (client) => insertSealed(client, files));
  }

  /** In order, opened; null where an owner was erased. */
  private async *partsOf(id: string): AsyncGenerator<{ sizeBytes: number; part: Buffer | null }> {
    for (let last = -1; ; ) {
      const rows = await partsBehind(this.pool, id, last);
      const opened = await openParts(
        this.keyring,
        rows.map((row) => ({ ...row, place: placeOf(id, row.part) })),
      );
      for (const [index, { part, sizeBytes }] of rows.entries()) {
        // A part that is missing would move all others.
        if (part !== last + 1) throw altered(id);
        last = part;
        yield { sizeBytes, part: opened[index] ?? null };
      }
      if (rows.length < partsMax) return;
    }
  }
}

function isUnmatched({ segments }: FileToKeep): boolean {
  return segments.some(({ owner }) => owner === 'file');
}

function sha256In({ segments }: FileToKeep): string {
  return sha256Of(segments.map(({ bytes }) => bytes));
}

/** What a part is sealed for: it opens nowhere else. */
function placeOf(id: string, part: number): string {
  return `rail-file/${id}/${part}`;
}

/** Hex. */
function sha256Of(parts: readonly Uint8Array[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}

function altered(id: string): ArchiveAltered {
  return new ArchiveAltered(`the archived file ${id} is not what was kept`);
}
