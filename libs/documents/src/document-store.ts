/**
 * Documents: statements and exports. The bytes are sealed in chunks under the key of an owner, so a document
 * is lost with its owner's key, and a range costs only the chunks that it touches.
 *
 * What always holds: a document is there as a whole or not at all. A write that was cut off is invisible, and
 * the next write of the same key removes it.
 */
import { createHash } from 'node:crypto';
import type { Keyring, Owner } from '@pis/keyring';

/** Of plain bytes in every chunk but the last. Stored documents have this size in them: it never changes. */
export const chunkBytes = 256 * 1024;

export interface WrittenDocument {
  readonly sizeBytes: number;
  /** Of the plain bytes, hex. */
  readonly sha256: string;
}

/** Plain bytes from `start` to `end`; `end` is exclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface DocumentStore {
  /**
   * Replaces the document as a whole, once all bytes are stored.
   * @param key slashes, letters, digits, `.`, `_` and `-`
   * @throws KeyDestroyed, DocumentStoreUnavailable, DocumentStoreRefused, and what `bytes` throws: then the earlier
   * document stays
   */
  write(key: string, owner: Owner, bytes: AsyncIterable<Uint8Array>): Promise<WrittenDocument>;
  /**
   * @param range within the document; default: all of it
   * @throws DocumentMissing, DocumentAltered, DocumentStoreUnavailable, DocumentStoreRefused, KeyDestroyed, CannotOpen:
   * at the first bytes or later
   */
  read(key: string, owner: Owner, range?: ByteRange): AsyncIterable<Uint8Array>;
  /** Idempotent. */
  remove(key: string): Promise<void>;
}

export type DocumentKeyring = Pick<Keyring, 'sealBytes' | 'openBytes'>;

/** Give up: there is no such document. */
export class DocumentMissing extends Error {
  override readonly name = 'DocumentMissing';
  constructor(key: string) {
    super(`there is no document ${key}`);
  }
}

/** The stored document is not whole, or was replaced while it was read. */
export class DocumentAltered extends Error {
  override readonly name = 'DocumentAltered';
  constructor(key: string) {
    super(`the document ${key} is not whole, or was replaced while it was read`);
  }
}

/** Retry: the store cannot be reached, is overloaded, or did not answer in time. */
export class DocumentStoreUnavailable extends Error {
  override readonly name = 'DocumentStoreUnavailable';
  /** Marks the error as transient, whatever its cause: see `isTransient` of `@pis/postgres`. */
  readonly isUnavailable = true;
}

/** An operator must act: the bucket, the credentials or their permissions are wrong. */
export class DocumentStoreRefused extends Error {
  override readonly name = 'DocumentStoreRefused';
  readonly code = 'DOCUMENT_STORE_REFUSED';
}

const keyForm = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;
const keyMax = 500;

/** @throws Error on a key that not every store can take */
export function assertKey(key: string): void {
  if (key.length > keyMax || !keyForm.test(key)) throw new Error(`not a document key: ${key}`);
}

/** What a chunk is sealed for. A chunk of another document, write or place does not open. */
export interface ChunkPlace {
  readonly key: string;
  readonly writeId: string;
  readonly index: number;
  /** The last chunk says so: a document that was cut short does not open. */
  readonly isLast: boolean;
}

export function placeOf({ key, writeId, index, isLast }: ChunkPlace): string {
  return `document/${key}/${writeId}/${index}${isLast ? '/last' : ''}`;
}

export interface SealedChunk {
  readonly index: number;
  readonly sealed: Buffer;
}

/** Seals a document chunk by chunk. `result` is what was read so far. */
export class DocumentSealer {
  private readonly hash = createHash('sha256');
  private sizeBytes = 0;

  constructor(
    private readonly keyring: DocumentKeyring,
    private readonly document: {
      readonly key: string;
      readonly owner: Owner;
      readonly writeId: string;
    },
  ) {}

  /** There is always a last chunk: that of an empty document is empty. */
  async *chunks(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<SealedChunk> {
    let index = 0;
    let held: Buffer[] = [];
    let heldBytes = 0;
    for await (const given of bytes) {
      this.hash.update(given);
      this.sizeBytes += given.length;
      // A copy: the producer may use its buffer again.
      held.push(Buffer.from(given));
      heldBytes += given.length;
      // A full chunk is held back until more follows: only then it is known not to be the last.
      if (heldBytes <= chunkBytes) continue;
      const whole = Buffer.concat(held);
      let from = 0;
      for (; whole.length - from > chunkBytes; from += chunkBytes)
        yield await this.sealed(index++, whole.subarray(from, from + chunkBytes), false);
      held = [whole.subarray(from)];
      heldBytes = whole.length - from;
    }
    yield await this.sealed(index, Buffer.concat(held), true);
  }

  result(): WrittenDocument {
    return { sizeBytes: this.sizeBytes, sha256: this.hash.copy().digest('hex') };
  }

  private async sealed(index: number, plain: Buffer, isLast: boolean): Promise<SealedChunk> {
    const { owner, ...place } = this.document;
    const sealed = await this.keyring.sealBytes(owner, plain, placeOf({ ...place, index, isLast }));
    return { index, sealed };
  }
}

/** How many chunks a document of this size has. */
export function chunkCountOf(sizeBytes: number): number {
  return Math.max(1, Math.ceil(sizeBytes / chunkBytes));
}

/** The chunks that a range touches, and the range itself, held against the size of the document. */
export interface ChunkSpan {
  readonly first: number;
  readonly last: number;
  readonly range: ByteRange;
}

/** Null for an empty range. @throws RangeError */
export function spanOf(sizeBytes: number, range: ByteRange | undefined): ChunkSpan | null {
  const { start, end } = range ?? { start: 0, end: sizeBytes };
  if (start < 0 || end > sizeBytes || start > end)
    throw new RangeError(`bytes ${start} to ${end} of a document of ${sizeBytes}`);
  if (start === end) return null;
  return {
    first: Math.floor(start / chunkBytes),
    last: Math.floor((end - 1) / chunkBytes),
    range: { start, end },
  };
}

/** The part of a plain chunk that belongs to the range. */
export function within(plain: Buffer, index: number, { start, end }: ByteRange): Buffer {
  const chunkStart = index * chunkBytes;
  return plain.subarray(Math.max(0, start - chunkStart), Math.max(0, end - chunkStart));
}
