/** Downloads of a process: so many at a time, and each only while its reader may have it. */
import type { Readable } from 'node:stream';
import type { AnswerWatch } from './answer-watch.js';
import { ConcurrentAnswers } from './concurrent-answers.js';

/** Of all files together: statements and exports. */
const downloadsMax = { perOrganizationMax: 4, perProcessMax: 16 } as const;

export class Downloads<Reader> {
  private readonly underWay = new ConcurrentAnswers(downloadsMax);

  constructor(private readonly watch: Pick<AnswerWatch<Reader>, 'add'>) {}

  /**
   * Opens the answer once there is room. It counts until it closes.
   * @param open resolves with the body, or undefined for an answer without one
   * @throws RateLimited, and what `open` throws
   */
  async begin(
    { organizationId, reader }: { readonly organizationId: string; readonly reader: Reader },
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
      return bytes;
    } catch (error) {
      end();
      throw error;
    }
  }
}
