/**
 * The archive of everything that goes to a bank and comes from it: exact bytes, in parts that are sealed. A part
 * is sealed under the key of whoever it speaks of, so that erasing the party erases the part:
 *
 *   owner                 a contact or an originator
 *   owner + secondOwner   sealed twice: it is lost with either key
 *   'file'                it may speak of anybody: a key of this file alone, destroyed after some months
 *   null                  it speaks of nobody: the archive's own key
 */
import { createHash, randomUUID } from 'node:crypto';
import { KeyDestroyed, type Keyring, type Owner, ownerOf } from '@pis/keyring';
import { GroupCommit, inTransaction, isDataError } from '@pis/postgres';
import type pg from 'pg';
import {
  type ArchivedFile,
  type ArchiveFilter,
  blank,
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

export type { KeptFile, SealedFile, SealedPart } from './archive-table.js';

/** Part of a file. */
export interface ArchiveSegment {
  readonly bytes: Uint8Array;
  /** Whose personal data it holds. `file`: it may speak of anybody. Null: of nobody. */
  readonly owner: Owner | 'file' | null;
  /** The other party that it speaks of. */
  readonly secondOwner?: Owner;
  readonly paymentId: string | null;
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
    const id = randomUUID();
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
    for await (const { sizeBytes, text } of this.partsOf(id)) {
      if (text === null) erasedBytes += sizeBytes;
      else if (Buffer.byteLength(text, 'latin1') !== sizeBytes) throw altered(id);
      else bytes.write(text, at, 'latin1');
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
          const { bytes, paymentId, secondOwner = null } = segment;
          const owner = segment.owner === 'file' ? ownerOf.railFile(id) : (segment.owner ?? own);
          const part = from + index;
          // Latin-1 holds any byte, and costs nothing for ASCII.
          const text = Buffer.from(bytes).toString('latin1');
          return {
            ...{ part, owner, secondOwner, paymentId },
            sizeBytes: bytes.length,
            sealed: await this.sealOrBlank({ owner, secondOwner }, text, placeOf(id, part)),
          };
        }),
      );
      parts.push(...sealed);
    }
    return parts;
  }

  /** Files of the bank may speak of a party that was erased since. Nothing of it is kept. */
  private async sealOrBlank(
    { owner, secondOwner }: Pick<SealedPart, 'owner' | 'secondOwner'>,
    text: string,
    place: string,
  ): Promise<string> {
    try {
      const sealed = await this.keyring.seal(owner, text, place);
      return secondOwner === null
        ? sealed
        : await this.keyring.seal(secondOwner, sealed, secondPlaceOf(place));
    } catch (error) {
      if (error instanceof KeyDestroyed) return blank;
      throw error;
    }
  }

  private async write(files: readonly SealedFile[]): Promise<readonly KeptFile[]> {
    const partsCount = files.reduce((sum, { parts }) => sum + parts.length, 0);
    // One statement is a transaction by itself.
    return partsCount <= partsMax
      ? insertSealed(this.pool, files)
      : inTransaction(this.pool, (client) => insertSealed(client, files));
  }

  /** In order, opened; null where an owner was erased. */
  private async *partsOf(id: string): AsyncGenerator<{ sizeBytes: number; text: string | null }> {
    for (let last = -1; ; ) {
      const rows = await partsBehind(this.pool, id, last);
      const texts = await this.open(id, rows);
      for (const [index, { part, sizeBytes }] of rows.entries()) {
        // A part that is missing would move all others.
        if (part !== last + 1) throw altered(id);
        last = part;
        yield { sizeBytes, text: texts[index] ?? null };
      }
      if (rows.length < partsMax) return;
    }
  }

  /** In order; null where an owner was erased. The second seal is around the first one. */
  private async open(
    id: string,
    parts: readonly Omit<SealedPart, 'paymentId' | 'sizeBytes'>[],
  ): Promise<readonly (string | null)[]> {
    const sealed: (string | null)[] = parts.map((one) =>
      one.sealed === blank ? null : one.sealed,
    );
    const openWhere = async (
      ownerIn: (part: (typeof parts)[number]) => Owner | null,
      placeIn: (place: string) => string,
    ): Promise<void> => {
      const found = parts.flatMap((part, index) => {
        const [owner, text] = [ownerIn(part), sealed[index] ?? null];
        if (owner === null || text === null) return [];
        return [{ index, owner, sealed: text, place: placeIn(placeOf(id, part.part)) }];
      });
      const texts = await this.keyring.openAll(found);
      for (const [at, { index }] of found.entries()) sealed[index] = texts[at] ?? null;
    };
    await openWhere(({ secondOwner }) => secondOwner, secondPlaceOf);
    await openWhere(
      ({ owner }) => owner,
      (place) => place,
    );
    return sealed;
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

function secondPlaceOf(place: string): string {
  return `${place}/second`;
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
