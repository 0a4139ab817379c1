/**
 * How far the log is known to reach, for all subscriptions of a store: it wakes them when there is more to read, and only
 * then. It also has what this process has appended at the end. An append of this process is known before its notification
 * arrives, and a notification may be lost, so the head is also polled. With a page read for each subscription and each
 * notification, an idle process queried PostgreSQL many times a second for nothing, and a busy one read everything twice.
 */
import { Bell, pause } from '@pis/postgres';
import type { SubscribedPage } from '../paged-subscription.js';
import { type LogPage, type Position, type RecordedEvent, beginning } from '../port.js';
import type { RecentEventsLimits } from '../shared-log/recent-events.js';
import { OwnAppends } from './own-appends.js';

export interface LogHeadOptions {
  readonly readHead: () => Promise<Position>;
  /** Asked before each wait. */
  readonly intervalMs: () => number;
  /** Of the events of this process that are kept. */
  readonly own: RecentEventsLimits;
}

export class LogHead {
  readonly bell = new Bell();
  readonly #stopping = new AbortController();
  readonly #own: OwnAppends;
  #running: Promise<void> | null = null;
  #known: Position = beginning;
  #followers = 0;
  /** Since the last poll. */
  #hasAppended = false;
  #isAppending = false;
  /** Heard during an append. */
  #notified: Position = beginning;

  constructor(private readonly options: LogHeadOptions) {
    this.#own = new OwnAppends(options.own);
  }

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

  /** Whether anybody reads pages. */
  get isFollowed(): boolean {
    return this.#followers > 0;
  }

  /** The same pages, of a subscription. */
  async *followed(pages: AsyncIterable<LogPage>): AsyncGenerator<LogPage, void, undefined> {
    this.#followers += 1;
    try {
      yield* pages;
    } finally {
      this.#followers -= 1;
    }
  }

  /** This process has appended them, and their commit was answered. See OwnAppends. */
  appended(before: Position, events: readonly RecordedEvent[]): void {
    this.#own.add(before, events);
    this.#hasAppended = true;
  }

  /** The page that a read would find, if all of it is known. */
  pageAfter(
    after: Position,
    streamPrefixes: readonly string[] | undefined,
    pageMax: number,
  ): SubscribedPage | null {
    const page = this.#own.pageAfter(after, streamPrefixes, pageMax);
    return page === null ? null : { ...page, isLast: page.position >= this.#known };
  }

  /** A notification. That of an append under way here often comes before its answer, which has the events as well. */
  notified(position: Position): void {
    if (!this.#isAppending) this.reached(position);
    else if (position > this.#notified) this.#notified = position;
  }

  /**
   * What is notified meanwhile counts once the append is answered, and its callers go first: whoever follows the log has more
   * to do than an API that answers its client. Or the next poll finds it. One append at a time.
   */
  async whileAppending<Answer>(append: () => Promise<Answer>): Promise<Answer> {
    this.#isAppending = true;
    try {
      return await append();
    } finally {
      setImmediate(() => {
        this.#isAppending = false;
        const position = this.#notified;
        this.#notified = beginning;
        this.reached(position);
      });
    }
  }

  /** The log may have anything by now: an append has an unknown outcome, or notifications may have been lost. */
  forget(): void {
    this.#own.forget();
    this.#moveTo(beginning);
  }

  #moveTo(position: Position): void {
    if (position < this.#known) this.#own.forget();
    this.#known = position;
    this.bell.ring();
  }

  async #run(): Promise<void> {
    const { readHead, intervalMs } = this.options;
    const { signal } = this.#stopping;
    for (;;) {
      await pause(intervalMs(), signal);
      if (signal.aborted) return;
      // Whoever subscribes later may have come because the log was restored.
      if (!this.#hasAppended) this.#own.forget();
      this.#hasAppended = false;
      const before = this.#known;
      // Subscriptions notice themselves that the store is unavailable, and read again when it is back.
      const head = await readHead().catch(() => {
        this.#own.forget();
        return before;
      });
      // An answer from before an append that is known by now says nothing new.
      if (this.#known !== before) this.reached(head);
      // Also backwards: the log may have been restored from an older backup.
      else if (head !== before) this.#moveTo(head);
    }
  }
}
