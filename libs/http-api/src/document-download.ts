/** Answers with a document of the store. */
import { Readable } from 'node:stream';
import { type ByteRange, DocumentMissing, type DocumentStore } from '@pis/documents';
import { KeyDestroyed, type Owner } from '@pis/keyring';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { notFound } from './errors.js';
import { answerFile } from './file-answer.js';

export interface DownloadedDocument {
  readonly key: string;
  readonly owner: Owner;
  readonly sizeBytes: number;
  /** Hex. */
  readonly sha256: string;
  readonly mediaType: string;
  /** Letters, digits, `.`, `_` and `-`. */
  readonly fileName: string;
  /** What is said not to be found when there is no such document. */
  readonly of: string;
}

/**
 * A document, or a range of it, as a stream. Null when there is none, or its owner was erased: the first chunk is
 * read before this resolves.
 * @throws StoreUnavailable, and what else the store throws before the first byte
 */
export async function openDocument(
  store: Pick<DocumentStore, 'read'>,
  { key, owner }: Pick<DownloadedDocument, 'key' | 'owner'>,
  range?: ByteRange,
): Promise<Readable | null> {
  const bytes = store.read(key, owner, range)[Symbol.asyncIterator]();
  try {
    const first = await bytes.next();
    const stream = Readable.from(following(first, bytes), { objectMode: false });
    // Also of a stream that nobody began to read. The reader has heard of a failure.
    stream.once('close', () => void bytes.return?.().catch(() => undefined));
    return stream;
  } catch (error) {
    if (error instanceof DocumentMissing || error instanceof KeyDestroyed) return null;
    throw error;
  }
}

/** Decides whether there is a document, at the cost of one chunk. */
const firstByte = { start: 0, end: 1 };

/**
 * Sets status and headers.
 * @param store only its reading is used
 * @returns the body; undefined for an answer without one
 * @throws ApiError NOT_FOUND when there is no such document or its owner was erased, RANGE_NOT_SATISFIABLE;
 * StoreUnavailable, and what else the store throws before the first byte
 */
export async function answerDocument(
  store: Pick<DocumentStore, 'read'>,
  { key, owner, fileName: name, of, ...file }: DownloadedDocument,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Readable | undefined> {
  // Also for a client that has it already, and for HEAD, which reads nothing else.
  const opened = await openDocument(store, { key, owner }, firstByte);
  if (opened === null) throw notFound(of);
  opened.destroy();
  const read = (range: ByteRange) => store.read(key, owner, range);
  return answerFile(request, reply, { ...file, name, read });
}

async function* following(
  first: IteratorResult<Uint8Array>,
  bytes: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for (let next = first; next.done !== true; next = await bytes.next()) yield next.value;
}
