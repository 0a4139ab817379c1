/**
 * Documents in a bucket of an S3-compatible store: one object per document. An object is a head with the ID of its
 * write, followed by the sealed chunks. All but the last have the same size, so a range of the document is a range
 * of the object. Nothing depends on the object's metadata: a copy of the objects is a copy of the documents.
 *
 * A document of several parts is a multipart upload, which is visible only once it is complete.
 */
import { randomUUID } from 'node:crypto';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  type S3Client,
} from '@aws-sdk/client-s3';
import { type Owner, sealedBytesOverhead } from '@pis/keyring';
import type { S3Place } from './document-place.js';
import {
  assertKey,
  type ByteRange,
  chunkBytes,
  chunkCountOf,
  DocumentAltered,
  type DocumentKeyring,
  DocumentMissing,
  DocumentSealer,
  type DocumentStore,
  placeOf,
  spanOf,
  within,
  type WrittenDocument,
} from './document-store.js';
import { nameOfError, s3Client, sent } from './s3-requests.js';
import { removeUploads, S3Upload } from './s3-upload.js';

/** Chunks in one request of a read. */
const chunksAtOnce = 4;
const sealedChunkBytes = chunkBytes + sealedBytesOverhead;
/** The form of the object. */
const form = Buffer.from('PID1', 'latin1');
const headBytes = form.length + 16;

/** The documents of a bucket. @throws DocumentStoreRefused when the bucket or the credentials are wrong */
export async function openS3Documents(
  place: S3Place,
  keyring: DocumentKeyring,
): Promise<DocumentStore> {
  const store = new S3Documents(s3Client(place), place, keyring);
  await store.check();
  return store;
}

interface Piece {
  readonly bytes: Buffer;
  readonly etag: string | undefined;
  /** Of the whole object. */
  readonly objectBytes: number;
}

/** Public for its tests: openS3Documents checks the place as well. */
export class S3Documents implements DocumentStore {
  constructor(
    private readonly client: S3Client,
    private readonly place: S3Place,
    private readonly keyring: DocumentKeyring,
  ) {}

  /** Resolves also when the store cannot be reached: it may come back. @throws DocumentStoreRefused */
  async check(): Promise<void> {
    const { bucket: Bucket, prefix: Prefix } = this.place;
    try {
      const list = new ListObjectsV2Command({ Bucket, Prefix, MaxKeys: 1 });
      await sent(this.place, (options) => this.client.send(list, options));
    } catch (error) {
      if (nameOfError(error) !== 'DocumentStoreUnavailable') throw error;
    }
  }

  async write(
    key: string,
    owner: Owner,
    bytes: AsyncIterable<Uint8Array>,
  ): Promise<WrittenDocument> {
    assertKey(key);
    const object = this.objectOf(key);
    // Of a write that was cut off, or is still under way: that one fails.
    await removeUploads(this.client, this.place, object);
    const writeId = randomUUID();
    const sealer = new DocumentSealer(this.keyring, { key, owner, writeId });
    const upload = new S3Upload(this.client, this.place, object);
    try {
      await upload.add(headOf(writeId));
      for await (const { sealed } of sealer.chunks(bytes)) await upload.add(sealed);
      await upload.finish();
      return sealer.result();
    } catch (error) {
      await upload.abort();
      throw error;
    }
  }

  async *read(key: string, owner: Owner, range?: ByteRange): AsyncGenerator<Uint8Array> {
    const head = await this.piece(key, 0, headBytes, undefined);
    const writeId = writeIdIn(head.bytes);
    const sizeBytes = plainBytesOf(head.objectBytes - headBytes);
    if (writeId === null || sizeBytes === null) throw new DocumentAltered(key);
    const lastIndex = chunkCountOf(sizeBytes) - 1;
    const span = spanOf(sizeBytes, range);
    if (span === null) return;
    for (let from = span.first; from <= span.last; from += chunksAtOnce) {
      const to = Math.min(span.last, from + chunksAtOnce - 1);
      const start = headBytes + from * sealedChunkBytes;
      const end = Math.min(head.objectBytes, headBytes + (to + 1) * sealedChunkBytes);
      const { bytes } = await this.piece(key, start, end, head.etag);
      if (bytes.length !== end - start) throw new DocumentAltered(key);
      for (let index = from; index <= to; index += 1) {
        const at = (index - from) * sealedChunkBytes;
        const sealed = bytes.subarray(at, at + sealedChunkBytes);
        const place = placeOf({ key, writeId, index, isLast: index === lastIndex });
        yield within(await this.keyring.openBytes(sealed, owner, place), index, span.range);
      }
    }
  }

  async remove(key: string): Promise<void> {
    const { bucket: Bucket } = this.place;
    const Key = this.objectOf(key);
    await removeUploads(this.client, this.place, Key);
    const command = new DeleteObjectCommand({ Bucket, Key });
    await sent(this.place, (options) => this.client.send(command, options));
  }

  private objectOf(key: string): string {
    return this.place.prefix === '' ? key : `${this.place.prefix}/${key}`;
  }

  /**
   * Bytes of an object, from `start` to `end`, exclusive.
   * @param etag of the object that was read before
   */
  private async piece(
    key: string,
    start: number,
    end: number,
    etag: string | undefined,
  ): Promise<Piece> {
    const command = new GetObjectCommand({
      ...{ Bucket: this.place.bucket, Key: this.objectOf(key) },
      Range: `bytes=${start}-${end - 1}`,
      ...(etag === undefined ? {} : { IfMatch: etag }),
    });
    try {
      return await sent(this.place, async (options) => {
        const { Body, ContentRange, ETag } = await this.client.send(command, options);
        if (Body === undefined) throw new DocumentAltered(key);
        const bytes = Buffer.from(await Body.transformToByteArray());
        const total = /\/(\d+)$/.exec(ContentRange ?? '')?.[1];
        return { bytes, etag: ETag, objectBytes: Number(total ?? bytes.length) };
      });
    } catch (error) {
      const name = nameOfError(error);
      if (name === 'NoSuchKey' && etag === undefined) throw new DocumentMissing(key);
      if (['NoSuchKey', 'PreconditionFailed', 'InvalidRange'].includes(name))
        throw new DocumentAltered(key);
      throw error;
    }
  }
}

function headOf(writeId: string): Buffer {
  return Buffer.concat([form, Buffer.from(writeId.replaceAll('-', ''), 'hex')]);
}

/** Null when it is not the head of a document. */
function writeIdIn(head: Buffer): string | null {
  if (head.length !== headBytes || !head.subarray(0, form.length).equals(form)) return null;
  const hex = head.toString('hex', form.length);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** The size of the document whose sealed chunks have this size together. Null when there is none. */
function plainBytesOf(sealedBytes: number): number | null {
  const count = Math.ceil(sealedBytes / sealedChunkBytes);
  const plainBytes = sealedBytes - count * sealedBytesOverhead;
  return count > 0 && plainBytes >= 0 && chunkCountOf(plainBytes) === count ? plainBytes : null;
}
