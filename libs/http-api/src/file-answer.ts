/** Answers with a file, or a range of it (RFC 9110, sections 13 and 14). */
import { Readable } from 'node:stream';
import type { ByteRange } from '@pis/documents';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from './errors.js';

export interface AnsweredFile {
  readonly name: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  /** Hex: the strong validator of the file. */
  readonly sha256: string;
  /** `end` is exclusive. Called for a range that is not empty. */
  readonly read: (range: ByteRange) => AsyncIterable<Uint8Array>;
}

/** Not read by the client yet. More is read from the store when there is less. */
const unreadBytesMax = 64 * 1024;

/**
 * Sets status and headers. An answer that breaks off is shorter than its Content-Length, which clients notice.
 * @returns the body; undefined for an answer without one
 * @throws ApiError RANGE_NOT_SATISFIABLE
 */
export function answerFile(
  { method, headers }: FastifyRequest,
  reply: FastifyReply,
  file: AnsweredFile,
): Readable | undefined {
  const { name, mediaType, sizeBytes } = file;
  const etag = `"${file.sha256}"`;
  reply.headers({
    ETag: etag,
    'Accept-Ranges': 'bytes',
    // A client's own cache may keep the file, and asks each time whether it may still have it.
    'Cache-Control': 'private, no-cache',
    'X-Accel-Buffering': 'no',
  });
  if (isNoneMatch(headers['if-none-match'], etag)) {
    reply.code(304);
    return undefined;
  }
  const ifRange = headers['if-range'];
  const asked = ifRange === undefined || ifRange === etag ? headers.range : undefined;
  const range = rangeIn(asked, sizeBytes);
  if (range === 'unsatisfiable') {
    reply.header('Content-Range', `bytes */${sizeBytes}`);
    throw new ApiError('RANGE_NOT_SATISFIABLE', `the file has ${sizeBytes} bytes`);
  }
  const { start, end } = range ?? { start: 0, end: sizeBytes };
  if (range !== null) {
    reply.code(206);
    reply.header('Content-Range', `bytes ${start}-${end - 1}/${sizeBytes}`);
  }
  reply.type(mediaType).headers({
    'Content-Length': String(end - start),
    'Content-Disposition': `attachment; filename="${name}"`,
  });
  // A HEAD is answered with the headers of the GET. Fastify takes them from an answer with a stream.
  const isEmpty = method === 'HEAD' || start === end;
  const bytes = isEmpty ? [] : file.read({ start, end });
  return Readable.from(bytes, { objectMode: false, highWaterMark: unreadBytesMax });
}

function isNoneMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return header.trim() === '*' || tags.includes(etag);
}

/** Null for the whole file: without a range, with several, and with one that is not well-formed. */
function rangeIn(
  header: string | undefined,
  sizeBytes: number,
): ByteRange | 'unsatisfiable' | null {
  const [, first = '', last = ''] =
    /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header?.trim() ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? 'unsatisfiable' : { start: sizeBytes - length, end: sizeBytes };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= sizeBytes) return 'unsatisfiable';
  return { start, end: last === '' ? sizeBytes : Math.min(Number(last) + 1, sizeBytes) };
}
