/** Downloads of a process: so many at a time, and each only while its reader may have it. */
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { AnswerWatch } from './answer-watch.js';
import { ConcurrentAnswers } from './concurrent-answers.js';

/** Of all files together: statements and exports. */
const downloadsMax = { perOrganizationMax: 4, sharedMax: 16, perProcessMax: 128 } as const;

export interface Download<Reader> {
  readonly organizationId: string;
  readonly reader: Reader;
  readonly reply: DownloadReply;
}

export interface DownloadReply {
  readonly sent: boolean;
  readonly raw: Pick<ServerResponse, 'closed' | 'once'>;
}

export class Downloads<Reader> {
  private readonly underWay = new ConcurrentAnswers(downloadsMax);

  constructor(private readonly watch: Pick<AnswerWatch<Reader>, 'add'>) {}

  /**
   * Opens the answer once there is room. It counts until it closes.
   * @param open resolves with the body, or undefined for an answer without one
   * @throws RateLimited, and what `open` throws
   */
  async begin(
    { organizationId, reader, reply }: Download<Reader>,
    open: () => Promise<Readable | undefined> | Readable | undefined,
  ): Promise<Readable | undefined> {
    const end = this.underWay.begin(organizationId);
    try {
      const bytes = await open();
      if (bytes === undefined) {
        end();
        return undefined;
      }
      bytes.once('close', end);
      this.watch.add(bytes, reader);
      endWith(reply, bytes);
      return bytes;
    } catch (error) {
      end();
      throw error;
    }
  }
}

/** Nobody reads, or ends, a body that comes after the answer: the time limit's 503, or the end of the connection. */
function endWith({ sent, raw }: DownloadReply, bytes: Readable): void {
  if (sent || raw.closed) bytes.destroy();
  else raw.once('close', () => bytes.destroy());
}
