/**
 * Gathers what arrives while one statement runs into the next one, so that many payments share a
 * commit. Two items of one key never share a batch: a statement cannot change a row twice.
 */
export class Batcher<Item, Result> {
  private waiting: Entry<Item, Result>[] = [];
  private running = false;

  constructor(
    private readonly options: {
      readonly keyOf: (item: Item) => string;
      /** Results in the order of the items. */
      readonly run: (items: readonly Item[]) => Promise<readonly Result[]>;
      readonly batchMax: number;
    },
  ) {}

  /** @throws what the batch that it was part of failed with */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      if (!this.running) void this.drain();
    });
  }

  private async drain(): Promise<void> {
    this.running = true;
    while (this.waiting.length > 0) {
      const batch = this.next();
      try {
        const results = await this.options.run(batch.map(({ item }) => item));
        batch.forEach(({ resolve, reject }, index) => {
          const result = results[index];
          if (result === undefined) reject(new Error('a batch answered for fewer items'));
          else resolve(result);
        });
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.running = false;
  }

  private next(): Entry<Item, Result>[] {
    const batch = new Map<string, Entry<Item, Result>>();
    const later: Entry<Item, Result>[] = [];
    for (const entry of this.waiting) {
      const key = this.options.keyOf(entry.item);
      if (batch.size >= this.options.batchMax || batch.has(key)) later.push(entry);
      else batch.set(key, entry);
    }
    this.waiting = later;
    return [...batch.values()];
  }
}

interface Entry<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}
