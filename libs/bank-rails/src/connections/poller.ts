/** Looks at a bank's inbox every so often while somebody listens, and calls back when there is something new. */
export class Poller {
  private readonly listeners = new Set<() => void>();
  private timer: NodeJS.Timeout | null = null;
  private known: ReadonlySet<string> = new Set();
  private isStopped = false;

  /**
   * @param look resolves with what is there, each thing by a text of its own. Its failures are not told:
   * whoever uses the bank next hears of them
   */
  constructor(
    private readonly everyMs: number,
    private readonly look: () => Promise<readonly string[]>,
  ) {}

  /** Returns a function that ends it. */
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    this.schedule();
    return () => this.listeners.delete(listener);
  }

  stop(): void {
    this.isStopped = true;
    if (this.timer !== null) clearTimeout(this.timer);
  }

  private schedule(): void {
    if (this.timer !== null || this.isStopped || this.listeners.size === 0) return;
    this.timer = setTimeout(() => {
      void this.poll().finally(() => {
        this.timer = null;
        this.schedule();
      });
    }, this.everyMs);
    this.timer.unref();
  }

  private async poll(): Promise<void> {
    let found: readonly string[];
    try {
      found = await this.look();
    } catch {
      return;
    }
    const isNew = found.some((one) => !this.known.has(one));
    this.known = new Set(found);
    if (isNew) for (const listener of this.listeners) listener();
  }
}
