/**
 * Large answers that clients have not read to their end. Each is in memory until then, and a client may take its time:
 * so each has only a few. Bytes that all readers share, and streams, take little memory and do not count.
 */
import { ConcurrentAnswers } from './concurrent-answers.js';

/** Shorter ones fit into the buffers of a connection. */
const largeLength = 256 * 1024;
const unreadMax = { perOrganizationMax: 8, sharedMax: 16, perProcessMax: 48 } as const;

/** As much of a ServerResponse as is needed here. */
interface SentAnswer {
  readonly closed: boolean;
  once(event: 'close', listener: () => void): unknown;
}

export class UnreadAnswers {
  private readonly answers = new ConcurrentAnswers(unreadMax);

  /**
   * Counts the answer until it was sent, or its client has gone.
   * @param reader an organization, or a network
   * @throws RateLimited
   */
  sending(reader: string, payload: unknown, raw: SentAnswer): void {
    if (typeof payload !== 'string' || payload.length <= largeLength || raw.closed) return;
    raw.once('close', this.answers.begin(reader));
  }
}
