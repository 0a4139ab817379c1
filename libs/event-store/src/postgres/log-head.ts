/**
 * How far the log is known to reach, for all subscriptions of a store: it wakes them when there is more to read, and only
 * then. An append of this process is known before its notification arrives, and a notification may be lost, so the
 * head is also polled. With a page read for each subscription and each notification, an idle process queried PostgreSQL
 * many times a second for nothing, and a busy one read everything twice.
 */
import { Bell, pause } from '@pis/postgres';
import { type Position, beginning } from '../port.js';

export interface LogHeadOptions {
  readonly readHead: () => Promise<Position>;
  /** Asked before each wait. */
  readonly intervalMs: () => number;
}

export class LogHead {
  readonly bell = new Bell();
  readonly #stopping = new AbortController();
  #running: Promise<void> | null = null;
  #known: Position = beginning;

  constructor(private readonly options: LogHeadOptions) {}

  /** Polls from now on. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** The result of a read that is under way is ignored. */
  stop(): void {
    this.#stopping.abort();
  }

  /** An event is committed at this position. So are all before it: positions are in the order of commit. */
  reached(position: Position): void {
    if (position > this.#known) this.#moveTo(position);
  }

  /** The log may have anything by now: an append has an unknown outcome, or notifications may have been lost. */
  forget(): void {
    this.#moveTo(beginning);
  }

  #moveTo(position: Position): void {
    this.#known = position;
    this.bell.ring();
  }

  async #run(): Promise<void> {
    const { readHead, intervalMs } = this.options;
    const { signal } = this.#stopping;
    for (;;) {
      await pause(intervalMs(), signal);
      if (signal.aborted) return;
      const before = this.#known;
      // Subscriptions notice themselves that the store is unavailable, and read again when it is back.
      const head = await readHead().catch(() => before);
      // An answer from before an append that is known by now says nothing new.
      if (this.#known !== before) this.reached(head);
      // Also backwards: the log may have been restored from an older backup.
      else if (head !== before) this.#moveTo(head);
    }
  }
}
