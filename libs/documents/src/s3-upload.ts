/** One object that is written piece by piece: a single request when it is small, a multipart upload otherwise. */
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { S3Place } from './document-place.js';
import { nameOfError, sent } from './s3-requests.js';

/** S3 takes no smaller part but the last. 10,000 of them are a document of 48 GiB. */
const partBytes = 5 * 1024 * 1024;

interface Part {
  readonly PartNumber: number;
  readonly ETag: string | undefined;
}

export class S3Upload {
  private uploadId: string | undefined;
  private readonly parts: Part[] = [];
  private held: Buffer[] = [];
  private heldBytes = 0;

  constructor(
    private readonly client: S3Client,
    private readonly place: S3Place,
    private readonly object: string,
  ) {}

  async add(bytes: Buffer): Promise<void> {
    this.held.push(bytes);
    this.heldBytes += bytes.length;
    if (this.heldBytes >= partBytes) await this.sendPart();
  }

  /** Makes the object visible as a whole. */
  async finish(): Promise<void> {
    const { client, place } = this;
    if (this.uploadId === undefined) {
      const put = new PutObjectCommand({ ...this.target(), Body: this.take() });
      await sent(place, (options) => client.send(put, options));
      return;
    }
    if (this.heldBytes > 0) await this.sendPart();
    const complete = new CompleteMultipartUploadCommand({
      ...this.target(),
      UploadId: this.uploadId,
      MultipartUpload: { Parts: this.parts },
    });
    await sent(place, (options) => client.send(complete, options));
  }

  /** If this fails too, the next write of the object removes the parts. */
  async abort(): Promise<void> {
    const { uploadId: UploadId } = this;
    if (UploadId === undefined) return;
    const command = new AbortMultipartUploadCommand({ ...this.target(), UploadId });
    await sent(this.place, (options) => this.client.send(command, options)).catch(() => undefined);
  }

  private async sendPart(): Promise<void> {
    const { client, place } = this;
    if (this.uploadId === undefined) {
      const create = new CreateMultipartUploadCommand(this.target());
      const { UploadId } = await sent(place, (options) => client.send(create, options));
      if (UploadId === undefined) throw new Error('the document store gave an upload no ID');
      this.uploadId = UploadId;
    }
    const PartNumber = this.parts.length + 1;
    const command = new UploadPartCommand({
      ...{ ...this.target(), UploadId: this.uploadId, PartNumber },
      Body: this.take(),
    });
    const { ETag } = await sent(place, (options) => client.send(command, options));
    this.parts.push({ PartNumber, ETag });
  }

  private take(): Buffer {
    const bytes = Buffer.concat(this.held);
    this.held = [];
    this.heldBytes = 0;
    return bytes;
  }

  private target() {
    return { Bucket: this.place.bucket, Key: this.object } as const;
  }
}

/** Removes the parts of uploads of this object that were never completed: one page of them, 1,000 at most. */
export async function removeUploads(
  client: S3Client,
  place: S3Place,
  object: string,
): Promise<void> {
  const { bucket: Bucket } = place;
  const list = new ListMultipartUploadsCommand({ Bucket, Prefix: object });
  const { Uploads = [] } = await sent(place, (options) => client.send(list, options));
  for (const { Key, UploadId } of Uploads) {
    // The prefix is also that of longer keys.
    if (Key !== object || UploadId === undefined) continue;
    const abort = new AbortMultipartUploadCommand({ Bucket, Key, UploadId });
    try {
      await sent(place, (options) => client.send(abort, options));
    } catch (error) {
      // Another process removed or completed it.
      if (nameOfError(error) !== 'NoSuchUpload') throw error;
    }
  }
}
