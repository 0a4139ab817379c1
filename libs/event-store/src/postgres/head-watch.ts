/**
 * Polls the head of the log at an interval, once for all subscriptions of a store, and wakes them when it
 * has moved. It is needed because a notification may be lost. With a page read per subscription, an idle
 * process queried PostgreSQL many times a second for nothing.
 */
import { type Bell, pause } from '@pis/postgres';

export interface HeadWatchOptions {
  readonly readHead: () => Promise<string>;
  readonly bell: Bell;
  /** Asked before each wait. */
  readonly intervalMs: () => number;
}

export class HeadWatch {
  readonly #stopping = new AbortController();
  #running: Promise<void> | null = null;

  constructor(private readonly options: HeadWatchOptions) {}

  start(): void {
    this.#running ??= this.#run();
  }

  /** The result of a read that is under way is ignored. */
  stop(): void {
    this.#stopping.abort();
  }

  async #run(): Promise<void> {
    const { readHead, bell, intervalMs } = this.options;
    const { signal } = this.#stopping;
    let seen: string | null = null;
    for (;;) {
      await pause(intervalMs(), signal);
      if (signal.aborted) return;
      // Subscriptions notice themselves that the store is unavailable, and read again when it is back.
      const head = await readHead().catch(() => seen);
      if (head !== seen) bell.ring();
      seen = head;
    }
  }
}
