/**
 * The appends of this process on their way to PostgreSQL, in group commits. An append is dropped in the
 * queue if its request has ended. So while the database hangs, nothing is written late for a caller that
 * already got an error.
 */
import { GroupCommit } from '@pis/postgres';
import { StoreUnavailable } from '../port.js';
import type { ProposedAppend } from '../proposed-append.js';
import { outOfTime, type TimeLimit, timeLimitOfCaller } from '../time-limit.js';

export interface AppendQueueLimits {
  /** Appends in a batch, at most. */
  readonly batchAppendsMax: number;
  /** JSON of the events in a batch, at most. An append larger than that goes alone. */
  readonly batchBytesMax: number;
  /** Appends that may wait. More are refused as StoreUnavailable. */
  readonly queueMax: number;
}

interface Item {
  readonly append: ProposedAppend;
  readonly timeLimit: TimeLimit | undefined;
}

export class AppendQueue<Outcome> {
  readonly #commits: GroupCommit<Item, Outcome>;
  #isClosed = false;

  /** @param write writes a batch with at most one append a stream; the outcomes are in its order */
  constructor(
    write: (batch: readonly ProposedAppend[]) => Promise<readonly Outcome[]>,
    private readonly limits: AppendQueueLimits,
  ) {
    this.#commits = new GroupCommit({
      write: (items) => write(items.map(({ append }) => append)),
      batchMax: limits.batchAppendsMax,
      bytes: { batchMax: limits.batchBytesMax, of: ({ append }) => append.sizeBytes },
      keyOf: ({ append }) => append.streamId,
      refusalOf: ({ timeLimit }) => (timeLimit?.isOver === true ? outOfTime() : null),
      isItemsFault: (error) => !(error instanceof StoreUnavailable),
    });
  }

  append(append: ProposedAppend): Promise<Outcome> {
    const { waiting } = this.#commits;
    if (this.#isClosed) return Promise.reject(new StoreUnavailable('the store is closed'));
    if (waiting >= this.limits.queueMax)
      return Promise.reject(new StoreUnavailable(`${waiting} appends are already waiting`));
    return this.#commits.add({ append, timeLimit: timeLimitOfCaller() });
  }

  /** Accepts no more appends, and resolves once the accepted ones are settled. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#commits.idle();
  }
}
