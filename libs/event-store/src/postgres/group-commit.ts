/**
 * Group commit: appends that arrive while a batch is being committed wait and go together in the next
 * one. One batch is in flight: more would only queue for the same lock (in a trial of the append
 * function, two in flight gained 6 to 10 per cent at a longer tail, three lost as much or more). An
 * append pays for at most two commits unless its stream is contended; the log pays for one fsync a
 * batch instead of one an append. An append whose request has ended without it is dropped: while the
 * database hangs, the queue holds no more than what somebody waits for.
 */
import { StoreUnavailable } from '../port.js';
import type { ProposedAppend } from '../proposed-append.js';
import { outOfTime, type TimeLimit, timeLimitOfCaller } from '../time-limit.js';

export interface GroupCommitLimits {
  /** Appends in a batch, at most. */
  readonly batchAppendsMax: number;
  /** JSON of the events in a batch, at most; an append larger than that goes alone. */
  readonly batchBytesMax: number;
  /** Appends that may wait; more are refused as StoreUnavailable. */
  readonly queueMax: number;
}

/** Writes a batch with at most one append a stream; the outcomes are in its order. */
export type WriteBatch<Outcome> = (batch: readonly ProposedAppend[]) => Promise<readonly Outcome[]>;

interface Waiting<Outcome> {
  readonly append: ProposedAppend;
  readonly timeLimit: TimeLimit | undefined;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

export class GroupCommit<Outcome> {
  #queue: Waiting<Outcome>[] = [];
  #running: Promise<void> | null = null;
  #closed = false;

  constructor(
    private readonly write: WriteBatch<Outcome>,
    private readonly limits: GroupCommitLimits,
  ) {}

  append(append: ProposedAppend): Promise<Outcome> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the store is closed'));
    const timeLimit = timeLimitOfCaller();
    if (this.#queue.length >= this.limits.queueMax)
      return Promise.reject(new StoreUnavailable(`${this.#queue.length} appends wait already`));
    return new Promise((resolve, reject) => {
      this.#queue.push({ append, timeLimit, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Takes no more, and resolves once what was taken is settled. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      // The requests of one turn of the event loop belong together.
      await new Promise<void>((resolve) => setImmediate(resolve));
      const batch = this.#takeBatch();
      if (batch.length > 0) await this.#settle(batch);
    }
    this.#running = null;
  }

  /** The oldest first. A second append to a stream waits for the next batch. */
  #takeBatch(): Waiting<Outcome>[] {
    const { batchAppendsMax, batchBytesMax } = this.limits;
    const batch: Waiting<Outcome>[] = [];
    const passedOver: Waiting<Outcome>[] = [];
    const streamIds = new Set<string>();
    let sizeBytes = 0;
    let looked = 0;
    for (const waiting of this.#queue) {
      const { streamId, sizeBytes: appendBytes } = waiting.append;
      const fits = batch.length === 0 || sizeBytes + appendBytes <= batchBytesMax;
      if (!fits || batch.length === batchAppendsMax) break;
      looked += 1;
      if (waiting.timeLimit?.isOver === true) {
        waiting.reject(outOfTime());
      } else if (streamIds.has(streamId)) {
        passedOver.push(waiting);
      } else {
        streamIds.add(streamId);
        sizeBytes += appendBytes;
        batch.push(waiting);
      }
    }
    this.#queue = [...passedOver, ...this.#queue.slice(looked)];
    return batch;
  }

  async #settle(batch: readonly Waiting<Outcome>[]): Promise<void> {
    try {
      const outcomes = await this.write(batch.map(({ append }) => append));
      batch.forEach(({ resolve, reject }, index) => {
        const outcome = outcomes[index];
        if (outcome === undefined) reject(new Error('the batch was written without an outcome'));
        else resolve(outcome);
      });
    } catch (error) {
      if (batch.length === 1 || error instanceof StoreUnavailable)
        for (const { reject } of batch) reject(error);
      // Something in the batch cannot be stored. Alone, only that append fails.
      else for (const waiting of batch) await this.#settle([waiting]);
    }
  }
}
