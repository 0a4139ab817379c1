/**
 * Gathers what concurrent callers want written into one statement: while one is on its way, the next
 * gathers. Nobody waits longer than a statement, and under load many share one commit.
 */
export interface GroupCommitOptions {
  /** Items in one statement, at most. */
  readonly batchMax: number;
  /** Whether the error is one item's own fault: its neighbours are then written without it. */
  readonly isItemsFault: (error: unknown) => boolean;
}

export class GroupCommit<Item, Result> {
  private waiting: Waiting<Item, Result>[] = [];
  private isRunning = false;

  /** @param write all or nothing; the results in the order of the items */
  constructor(
    private readonly write: (items: readonly Item[]) => Promise<readonly Result[]>,
    private readonly options: GroupCommitOptions,
  ) {}

  /** Resolves once the item is written. @throws what `write` threw for it */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      if (!this.isRunning) {
        this.isRunning = true;
        // Callers of the same tick go together.
        queueMicrotask(() => void this.run());
      }
    });
  }

  private async run(): Promise<void> {
    while (this.waiting.length > 0)
      await this.writeBatch(this.waiting.splice(0, this.options.batchMax));
    this.isRunning = false;
  }

  private async writeBatch(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.write(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, index) => resolve(results[index] as Result));
    } catch (error) {
      if (batch.length > 1 && this.options.isItemsFault(error))
        for (const one of batch) await this.writeBatch([one]);
      else for (const { reject } of batch) reject(error);
    }
  }
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** SQLSTATE classes 22 and 23: data that PostgreSQL does not take, whatever we try. */
export function isDataError(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^2[23]/.test(code) && code.length === 5;
}
