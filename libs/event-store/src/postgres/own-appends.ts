/**
 * The last events that this process has appended, for its own subscriptions: they need not read back what was written a
 * moment ago. If another process appends in between, they are read from the database up to there.
 *
 * What always holds: these are all events of the log after `start` and up to `end`, as they are stored. Only events
 * whose commit was answered are added.
 */
import type { LogPage, Position, RecordedEvent } from '../port.js';
import { matching, RecentEvents, type RecentEventsLimits } from '../shared-log/recent-events.js';

export class OwnAppends {
  #recent: RecentEvents | null = null;

  constructor(private readonly limits: RecentEventsLimits) {}

  /**
   * @param before the position before the first of them
   * @param events at positions one after the other
   */
  add(before: Position, events: readonly RecordedEvent[]): void {
    const last = events.at(-1);
    if (last === undefined) return;
    if (this.#recent?.end !== before) this.#recent = new RecentEvents(before, this.limits);
    this.#recent.add({ events, position: last.position });
  }

  /** The log may have another history by now. */
  forget(): void {
    this.#recent = null;
  }

  /** Null if the events after `after` are not known. */
  pageAfter(
    after: Position,
    streamPrefixes: readonly string[] | undefined,
    pageMax: number,
  ): LogPage | null {
    if (this.#recent === null || after < this.#recent.start) return null;
    return this.#recent.pageAfter(after, matching(streamPrefixes), pageMax);
  }
}
