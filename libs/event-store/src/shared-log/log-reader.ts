/**
 * Reads the log once for all subscribers and keeps the latest events. The streams that it reads are fixed:
 * when a subscriber needs more of them, another reader replaces it.
 */
import { Bell, backoffMs, pause } from '@pis/postgres';
import { endOf } from '../anchor.js';
import { type EventStore, type LogPage, type Position, StoreUnavailable } from '../port.js';
import { RecentEvents, type RecentEventsLimits, type StreamMatch } from './recent-events.js';

export interface LogReaderLimits extends RecentEventsLimits {
  readonly retryInitialMs: number;
  readonly retryMaxMs: number;
}

/** Called with null when the log connects, and with the reason when it does not. */
export type ConnectionListener = (failure: Error | null) => void;

export type KnownEvents = Pick<RecentEvents, 'start' | 'end' | 'eventIdAt'>;

/** How reading ended: we stopped it, the store was closed, or it failed for good. */
export type ReaderEnd =
  | { readonly by: 'stop' | 'store' }
  | { readonly by: 'error'; error: unknown };

export class LogReader {
  /** Rings for new events, for the position where reading began, and at the end. */
  readonly bell = new Bell();
  readonly #stopping = new AbortController();
  readonly #listeners = new Set<ConnectionListener>();
  /** Undefined while it is unknown. */
  #connection: Error | null | undefined;
  /** Null until the end of the log is found. */
  #recent: RecentEvents | null = null;
  #end: ReaderEnd | null = null;

  /** Begins where another one ended, or at the end of the log when that is null. */
  constructor(
    private readonly store: EventStore,
    readonly streamPrefixes: readonly string[] | undefined,
    private readonly limits: LogReaderLimits,
    former: KnownEvents | null,
  ) {
    if (former !== null) this.#beginAfter(former.end, former.eventIdAt(former.end));
    void this.#run();
  }

  /** The latest events; null until the end of the log is found. */
  get recent(): KnownEvents | null {
    return this.#recent;
  }

  get end(): ReaderEnd | null {
    return this.#end;
  }

  stop(): void {
    this.#stopping.abort();
    this.#endBy({ by: 'stop' });
  }

  /** Null without an event after `after`. */
  pageAfter(after: Position, matches: StreamMatch, pageMax: number): LogPage | null {
    return this.#recent?.pageAfter(after, matches, pageMax) ?? null;
  }

  /** Reports the state of the connection, if known, and each change. Returns a function that stops it. */
  listen(listener: ConnectionListener): () => void {
    this.#listeners.add(listener);
    if (this.#connection !== undefined) listener(this.#connection);
    return () => void this.#listeners.delete(listener);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    try {
      const recent = this.#recent ?? (await this.#findEnd());
      if (recent === null) return;
      const { streamPrefixes } = this;
      const pages = this.store.subscribe({
        ...(streamPrefixes === undefined ? {} : { streamPrefixes }),
        after: recent.end,
        afterEventId: recent.eventIdAt(recent.end),
        signal,
        onConnection: (failure) => this.#report(failure),
      });
      for await (const page of pages) {
        recent.add(page);
        this.bell.ring();
      }
      this.#endBy({ by: 'store' });
    } catch (error) {
      this.#endBy({ by: 'error', error });
    }
  }

  /** Null if it was stopped meanwhile. */
  async #findEnd(): Promise<RecentEvents | null> {
    const { signal } = this.#stopping;
    const { retryInitialMs, retryMaxMs } = this.limits;
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        const { after, afterEventId } = await endOf(this.store);
        return this.#beginAfter(after, afterEventId);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        this.#report(error);
        this.bell.ring();
        await pause(backoffMs(failures, retryInitialMs, retryMaxMs), signal);
      }
    }
    return null;
  }

  #beginAfter(position: Position, eventId: string | undefined): RecentEvents {
    this.#recent = new RecentEvents(position, this.limits, eventId);
    this.bell.ring();
    return this.#recent;
  }

  #report(failure: Error | null): void {
    if (this.#end !== null) return;
    this.#connection = failure;
    for (const listener of this.#listeners) listener(failure);
  }

  #endBy(end: ReaderEnd): void {
    this.#end ??= end;
    this.bell.ring();
  }
}
