/**
 * How far the log is known to reach, for all subscriptions of a store: it wakes them when there is more to read, and only
 * then. An append of this process is known before its notification arrives, and a notification may be lost, so the head is
 * also polled: seldom while it is proven that notifications arrive. With a page read for each subscription and each notification, an idle process queried PostgreSQL many times
 * a second for nothing, and a busy one read everything twice.
 *
 * It also has the last events that this process has appended, so that its subscriptions need not read back what was
 * written a moment ago. What always holds: these are all events of the log in their range, as they are stored, and their
 * commit was answered. An append of another process in between begins a new range, also one at a position that the log has
 * lost. So does a new subscription: it may have
 * come because the log was restored from an older backup, without some of these events.
 */
import { Bell } from '@pis/postgres';
import type { SubscribedPage } from '../paged-subscription.js';
import {
  type LogPage,
  type Position,
  type ReadLogOptions,
  type RecordedEvent,
  beginning,
} from '../port.js';
import { matching, RecentEvents, type RecentEventsLimits } from '../shared-log/recent-events.js';

export interface LogHeadOptions {
  readonly readHead: () => Promise<Position>;
  /** Asked before each wait. */
  readonly intervalMs: () => number;
  /** Bounds the events of this process that are kept. */
  readonly own: RecentEventsLimits;
}

/** Notifications that are heard during an append wait for its end, but not longer than this. */
const withheldMaxMs = 2_000;

export class LogHead {
  readonly bell = new Bell();
  /** Ends the wait for the next poll. */
  readonly #poll = new Bell();
  readonly #stopping = new AbortController();
  #own: RecentEvents | null = null;
  #running: Promise<void> | null = null;
  #known: Position = beginning;
  #followers = 0;
  #isAppending = false;
  #hasListened = false;
  #isAway = false;
  #losses = 0;
  /** Heard during an append. */
  #notified: Position = beginning;
  #withheld: NodeJS.Timeout | undefined;

  constructor(private readonly options: LogHeadOptions) {}

  /** Polls from now on. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** The result of a read that is under way is ignored. */
  stop(): void {
    this.#stopping.abort();
    clearTimeout(this.#withheld);
  }

  /** Polls now, and asks for the interval again: notifications may be missing. */
  pollNow(): void {
    this.#poll.ring();
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
    this.#own = null;
    try {
      yield* pages;
    } finally {
      this.#followers -= 1;
    }
  }

  /**
   * This process has appended them, and their commit was answered.
   * @param before the event before the first of them; its id is null if it is not known
   * @param events at positions one after the other
   */
  appended(
    before: { readonly position: Position; readonly id: string | null },
    events: readonly RecordedEvent[],
  ): void {
    const last = events.at(-1);
    if (last === undefined) return;
    const { position, id } = before;
    const isNext = this.#own?.end === position && this.#own.eventIdAt(position) === id;
    if (this.#own === null || !isNext)
      this.#own = new RecentEvents(position, this.options.own, id ?? undefined);
    this.#own.add({ events, position: last.position, eventId: last.id });
  }

  /**
   * The page that a read would find; null if its events are not known, or if the reader's last event is not one of them. A
   * read of the log compares that event: the log may have been replaced by a replica that lacked it.
   */
  pageAfter(
    { after, afterEventId, streamPrefixes }: ReadLogOptions,
    pageMax: number,
  ): SubscribedPage | null {
    if (this.#own === null || after < this.#own.start) return null;
    if (afterEventId === undefined || this.#own.eventIdAt(after) !== afterEventId) return null;
    const page = this.#own.pageAfter(after, matching(streamPrefixes), pageMax);
    return page === null ? null : { ...page, isLast: page.position >= this.#known };
  }

  /** How often the connection was lost and is back. It may lead to another server by now, whose log lacks the last events. */
  get losses(): number {
    return this.#losses;
  }

  /** Notifications arrive from now on. Those from before may be lost. */
  listens(): void {
    if (this.#hasListened) this.#losses += 1;
    this.#hasListened = true;
    this.forget();
  }

  /** A notification. That of an append under way here often comes before its answer, which has the events as well. */
  notified(position: Position): void {
    if (!this.#isAppending) {
      this.reached(position);
      return;
    }
    if (position > this.#notified) this.#notified = position;
    this.#withheld ??= setTimeout(() => this.#release(), withheldMaxMs).unref();
  }

  /**
   * Notifications during the append take effect once it is answered, or after withheldMaxMs. Its callers
   * go first: an API should not answer its client after the followers of the log, who have more to do. One append at a time.
   */
  async whileAppending<Answer>(append: () => Promise<Answer>): Promise<Answer> {
    this.#isAppending = true;
    try {
      return await append();
    } finally {
      setImmediate(() => {
        this.#isAppending = false;
        this.#release();
      });
    }
  }

  #release(): void {
    clearTimeout(this.#withheld);
    this.#withheld = undefined;
    const position = this.#notified;
    this.#notified = beginning;
    this.reached(position);
  }

  /** The log may have anything by now: an append has an unknown outcome, or notifications were lost. */
  forget(): void {
    this.#own = null;
    this.#moveTo(beginning);
  }

  #moveTo(position: Position): void {
    if (position < this.#known) this.#own = null;
    this.#known = position;
    this.bell.ring();
  }

  async #run(): Promise<void> {
    const { readHead, intervalMs } = this.options;
    const { signal } = this.#stopping;
    let { rung } = this.#poll;
    for (;;) {
      await this.#poll.wait(rung, intervalMs(), signal);
      if (signal.aborted) return;
      rung = this.#poll.rung;
      const before = this.#known;
      const head = await readHead().catch(() => null);
      if (head === null) {
        this.#own = null;
        this.#isAway = true;
        continue;
      }
      if (this.#isAway) {
        this.#isAway = false;
        this.#losses += 1;
        this.bell.ring();
      }
      // An answer from before an append that is known by now says nothing new.
      if (this.#known !== before) this.reached(head);
      // Also backwards: the log may have been restored from an older backup.
      else if (head !== before) this.#moveTo(head);
    }
  }
}
