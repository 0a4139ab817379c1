/** Downloads with an API key. They end within 5 s after the key is revoked or has expired. */
import type { Readable } from 'node:stream';
import { AnswerWatch, type Authentication, type DownloadReply, Downloads } from '@pis/http-api';
import type { FastifyRequest } from 'fastify';

/** The time limit of requests is for the beginning of the answer. A client may take its time with the file. */
export class KeyDownloads {
  private readonly downloads: Downloads<FastifyRequest>;

  constructor(
    private readonly authentication: Pick<Authentication, 'authenticate'>,
    onFailure: (error: unknown) => void,
  ) {
    const stillValid = (requests: readonly FastifyRequest[]) => this.stillValid(requests);
    this.downloads = new Downloads(new AnswerWatch({ stillValid, onFailure }));
  }

  /**
   * @param open takes what each source of bytes must pass through
   * @throws RateLimited, and what `open` throws
   */
  begin(
    organizationId: string,
    { request: reader, reply }: { readonly request: FastifyRequest; readonly reply: DownloadReply },
    open: (
      whileValid: (bytes: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>,
    ) => Promise<Readable | undefined> | Readable | undefined,
  ): Promise<Readable | undefined> {
    return this.downloads.begin({ organizationId, reader, reply }, () =>
      open((bytes) => this.whileValid(reader, bytes)),
    );
  }

  /** A reader that is fast gets much between two rounds of checks. @throws ApiError UNAUTHORIZED */
  private async *whileValid(
    { headers, ip }: FastifyRequest,
    bytes: AsyncIterable<Uint8Array>,
  ): AsyncGenerator<Uint8Array> {
    for await (const chunk of bytes) {
      await this.authentication.authenticate(headers.authorization, ip);
      yield chunk;
    }
  }

  private async stillValid(
    requests: readonly FastifyRequest[],
  ): Promise<ReadonlySet<FastifyRequest>> {
    const valid = new Set<FastifyRequest>();
    for (const request of requests) {
      const { headers, ip } = request;
      try {
        await this.authentication.authenticate(headers.authorization, ip);
        valid.add(request);
      } catch {
        // Refused, or not known: either way the answer ends.
      }
    }
    return valid;
  }
}
