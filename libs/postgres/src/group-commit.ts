/**
 * Group commit: items that arrive while a batch is being written go together in the next one. An item
 * waits for at most two batches unless its key is contended. Under load many items share one commit.
 *
 * One batch is in flight. In a trial of the event store, two in flight gained 6 to 10 per cent at a longer
 * tail, and three lost as much or more: they only queue for the same lock.
 */
export interface GroupCommitOptions<Item, Result> {
  /** Writes all of the items or none. The results are in the order of the items. */
  readonly write: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** Items in a batch, at most. */
  readonly batchMax: number;
  /** Bytes in a batch, at most. An item larger than that goes alone. */
  readonly bytes?: { readonly batchMax: number; readonly of: (item: Item) => number };
  /** Two items of one key never share a batch: a statement cannot change a row twice. */
  readonly keyOf?: (item: Item) => string;
  /** Called before an item is written: the reason not to write it any more, or null. */
  readonly refusalOf?: (item: Item) => Error | null;
  /** Whether one item may be at fault for a failed batch. Then each item is written alone. */
  readonly isItemsFault: (error: unknown) => boolean;
}

/** For tracing: what the items of a batch belong to. */
export interface BatchObserver<Origin> {
  /** Called when an item is added. */
  readonly added: () => Origin;
  /** Runs the write of a batch, of items with these origins. */
  readonly run: <Result>(
    origins: readonly Origin[],
    write: () => Promise<Result>,
  ) => Promise<Result>;
}

let observer: BatchObserver<unknown> = {
  added: () => undefined,
  run: (_origins, write) => write(),
};

/** For every batch of this process from now on. */
export function observeBatches<Origin>(by: BatchObserver<Origin>): void {
  // Sound but for batches under way, whose origins the last observer named.
  observer = by as BatchObserver<unknown>;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly origin: unknown;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** The queue has no limit. A caller that adds items without waiting for results must check `waiting` first. */
export class GroupCommit<Item, Result> {
  #queue: Waiting<Item, Result>[] = [];
  #running: Promise<void> | null = null;

  constructor(private readonly options: GroupCommitOptions<Item, Result>) {}

  /** Items that wait for their batch. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Resolves once the item is written. @throws what `write` threw for it, or why it was refused */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, origin: observer.added(), resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves once everything that was added is settled. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      // Items that are added in one turn of the event loop go together.
      await new Promise<void>((resolve) => setImmediate(resolve));
      const batch = this.#takeBatch();
      if (batch.length > 0) await this.#settle(batch);
    }
    this.#running = null;
  }

  /** The oldest first. A second item of a key waits for the next batch. */
  #takeBatch(): Waiting<Item, Result>[] {
    const { batchMax, bytes, keyOf, refusalOf } = this.options;
    const batch: Waiting<Item, Result>[] = [];
    const passedOver: Waiting<Item, Result>[] = [];
    const keys = new Set<string>();
    let batchBytes = 0;
    let looked = 0;
    for (const waiting of this.#queue) {
      const { item, reject } = waiting;
      const itemBytes = bytes?.of(item) ?? 0;
      const fits = bytes === undefined || batchBytes + itemBytes <= bytes.batchMax;
      if (batch.length === batchMax || (batch.length > 0 && !fits)) break;
      looked += 1;
      const refusal = refusalOf?.(item) ?? null;
      const key = keyOf?.(item);
      if (refusal !== null) {
        reject(refusal);
      } else if (key !== undefined && keys.has(key)) {
        passedOver.push(waiting);
      } else {
        if (key !== undefined) keys.add(key);
        batchBytes += itemBytes;
        batch.push(waiting);
      }
    }
    this.#queue = [...passedOver, ...this.#queue.slice(looked)];
    return batch;
  }

  async #settle(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    const { write, isItemsFault } = this.options;
    let results: readonly Result[];
    try {
      results = await observer.run(
        batch.map(({ origin }) => origin),
        () => write(batch.map(({ item }) => item)),
      );
      if (results.length !== batch.length)
        throw new Error(`${batch.length} items were written with ${results.length} results`);
    } catch (error) {
      if (batch.length > 1 && isItemsFault(error))
        for (const waiting of batch) await this.#settle([waiting]);
      else for (const { reject } of batch) reject(error);
      return;
    }
    batch.forEach(({ resolve }, index) => resolve(results[index] as Result));
  }
}
