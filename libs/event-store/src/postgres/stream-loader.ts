/**
 * Reads streams or their tails, many in one query: requests from the same turn of the event loop, or from
 * the time while earlier queries are in flight, go out together. A read always begins after its request.
 * Requests without a waiting caller are not sent, so while the database hangs, the queue holds no more than
 * the waiting requests.
 */
import type { RecordedEvent } from '../port.js';
import { outOfTime, type TimeLimit, timeLimitOfCaller } from '../time-limit.js';

export interface StreamLoaderLimits {
  /** Streams in a query, at most. */
  readonly queryStreamsMax: number;
  readonly queriesInFlightMax: number;
}

/** The requested part of one stream. */
export interface StreamPart {
  readonly streamId: string;
  /** The first revision, inclusive. */
  readonly from: number;
  /** Events at most; all when null. */
  readonly maxCount: number | null;
}

type Events = readonly RecordedEvent[];
/** By index of the part; parts without events may be absent from the answer. */
export type ReadParts = (parts: readonly StreamPart[]) => Promise<ReadonlyMap<number, Events>>;

interface Asked extends PromiseWithResolvers<Events> {
  readonly part: StreamPart;
  /** The limits of all callers; undefined for a caller without a limit. */
  readonly timeLimits: Set<TimeLimit | undefined>;
}

export class StreamLoader {
  /** Not sent yet. Two callers of the same part share one answer. */
  readonly #asked = new Map<string, Asked>();
  #inFlight = 0;
  #scheduled = false;

  constructor(
    private readonly read: ReadParts,
    private readonly limits: StreamLoaderLimits,
  ) {}

  load(part: StreamPart): Promise<Events> {
    const key = `${part.from} ${part.maxCount} ${part.streamId}`;
    let asked = this.#asked.get(key);
    if (asked === undefined) {
      asked = { ...Promise.withResolvers<Events>(), part, timeLimits: new Set() };
      this.#asked.set(key, asked);
      this.#schedule();
    }
    asked.timeLimits.add(timeLimitOfCaller());
    return asked.promise;
  }

  #schedule(): void {
    if (this.#scheduled || this.#inFlight >= this.limits.queriesInFlightMax) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#send();
    });
  }

  /** Never rejects: the callers get the error. */
  async #send(): Promise<void> {
    const batch = this.#takeBatch();
    if (batch.length === 0) return;
    this.#inFlight += 1;
    if (this.#asked.size > 0) this.#schedule();
    try {
      const parts = await this.read(batch.map(({ part }) => part));
      for (const [index, { resolve }] of batch.entries()) resolve(parts.get(index) ?? []);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    this.#inFlight -= 1;
    if (this.#asked.size > 0) this.#schedule();
  }

  #takeBatch(): Asked[] {
    const batch: Asked[] = [];
    for (const [key, asked] of this.#asked) {
      if (batch.length === this.limits.queryStreamsMax) break;
      this.#asked.delete(key);
      if ([...asked.timeLimits].every((limit) => limit?.isOver === true)) asked.reject(outOfTime());
      else batch.push(asked);
    }
    return batch;
  }
}
