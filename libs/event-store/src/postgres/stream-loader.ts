/**
 * Whole streams, many in one query: what is asked for in the same turn of the event loop, or while
 * the queries before it are in flight, goes out together. A read always begins after it was asked for.
 */
import type { RecordedEvent } from '../port.js';

export interface StreamLoaderLimits {
  /** Streams in a query, at most. */
  readonly queryStreamsMax: number;
  readonly queriesInFlightMax: number;
}

type Events = readonly RecordedEvent[];
/** Streams that do not exist may be absent from the answer. */
export type ReadStreams = (streamIds: readonly string[]) => Promise<ReadonlyMap<string, Events>>;

export class StreamLoader {
  /** Not sent yet. Two who ask for the same stream share one answer. */
  readonly #asked = new Map<string, PromiseWithResolvers<Events>>();
  #inFlight = 0;
  #scheduled = false;

  constructor(
    private readonly read: ReadStreams,
    private readonly limits: StreamLoaderLimits,
  ) {}

  load(streamId: string): Promise<Events> {
    let answer = this.#asked.get(streamId);
    if (answer === undefined) {
      answer = Promise.withResolvers<Events>();
      this.#asked.set(streamId, answer);
      this.#schedule();
    }
    return answer.promise;
  }

  #schedule(): void {
    if (this.#scheduled || this.#inFlight >= this.limits.queriesInFlightMax) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#send();
    });
  }

  /** Never rejects: whoever asked gets the error. */
  async #send(): Promise<void> {
    const batch = [...this.#asked].slice(0, this.limits.queryStreamsMax);
    if (batch.length === 0) return;
    for (const [streamId] of batch) this.#asked.delete(streamId);
    this.#inFlight += 1;
    if (this.#asked.size > 0) this.#schedule();
    try {
      const streams = await this.read(batch.map(([streamId]) => streamId));
      for (const [streamId, { resolve }] of batch) resolve(streams.get(streamId) ?? []);
    } catch (error) {
      for (const [, { reject }] of batch) reject(error);
    }
    this.#inFlight -= 1;
    if (this.#asked.size > 0) this.#schedule();
  }
}
