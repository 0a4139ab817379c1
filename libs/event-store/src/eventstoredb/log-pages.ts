/**
 * Pages of the log. A reader that asks for one page after the other reads from one call to the server, which
 * stays open between two pages. Each call costs the server a search, and most of what it sends ahead
 * would be thrown away.
 *
 * The first page is a call of its own: most readers want no more. The second page opens the long read.
 *
 * What always holds:
 * - a page shows everything that was committed before it was asked for. An open read that has come to its end
 *   may have done so before, so what follows is asked for anew;
 * - a long read that fails is no failure of the page: the page is read by a call of its own;
 * - a long read that nobody continues is closed.
 */
import type { LogPage, Position, ReadLogOptions, RecordedEvent } from '../port.js';
import { type LogPlace, placeOf } from './namespace.js';
import type { EventStoreDbReads, OpenLogRead, ReadEvent } from './reads.js';

export interface LogPagesLimits {
  /** Events in a page, when the reader does not say. */
  readonly pageMax: number;
  /** Events of the log looked at for one page, at most, however few match. */
  readonly pageEventsMax: number;
  readonly readTimeoutMs: number;
}

/** Readers of one page after the other, at the same time, whose reads stay open. */
const openMax = 8;
/** How long a reader may take from one page to the next. */
const idleMaxMs = 10_000;

/** Where a full page ended, and the read that goes on from there; null until the next page is asked for. */
interface Continuation {
  readonly read: OpenLogRead | null;
  /** Came with the last page and did not fit. */
  readonly rest: readonly ReadEvent[];
  readonly idle: NodeJS.Timeout;
}

export class LogPages {
  /** By the position that the next page is asked for with; the oldest first. */
  readonly #continuations = new Map<Position, Continuation>();
  #isClosed = false;

  constructor(
    private readonly reads: EventStoreDbReads,
    private readonly limits: LogPagesLimits,
  ) {}

  /**
   * Filters here and not at the server: to fill a page, the server would search all events of other systems
   * without reporting its progress.
   * @throws StoreUnavailable
   */
  async page(options: ReadLogOptions): Promise<LogPage> {
    const page = new PageSoFar(options, this.limits);
    const endsAtMs = performance.now() + this.limits.readTimeoutMs;
    const continuation = this.#take(options.after);
    const place = placeOf(options.after);
    if (continuation !== null && place !== null) {
      const isWhole = await this.#goOn(page, place, continuation, endsAtMs);
      if (isWhole) return page.done();
    }
    await this.#readAnew(page, endsAtMs);
    return page.done();
  }

  close(): void {
    this.#isClosed = true;
    for (const after of [...this.#continuations.keys()]) this.#drop(after);
  }

  /** By a call of its own. */
  async #readAnew(page: PageSoFar, endsAtMs: number): Promise<void> {
    // The first one is the event at the page's position itself.
    const range = { from: placeOf(page.position) ?? 'start', maxCount: page.lookMax + 1 } as const;
    const leftMs = Math.max(1, endsAtMs - performance.now());
    await this.reads.log(range, leftMs, (event) => page.add(event));
    if (page.isFull) this.#keep(page.position, null, []);
  }

  /** From the open read, or from one that is opened now. Returns whether the page is whole. */
  async #goOn(
    page: PageSoFar,
    place: LogPlace,
    { read: open, rest }: Continuation,
    endsAtMs: number,
  ): Promise<boolean> {
    const read = open ?? this.reads.openLog(place);
    let events: readonly ReadEvent[] | null = rest;
    try {
      while (events !== null) {
        const taken = page.addUntilFull(events);
        if (page.isFull) {
          this.#keep(page.position, read, events.slice(taken));
          return true;
        }
        events = await read.next(Math.max(1, endsAtMs - performance.now()));
      }
      read.close();
      return open === null;
    } catch (error) {
      read.close();
      if (performance.now() >= endsAtMs) throw error;
      return false;
    }
  }

  #keep(after: Position, read: OpenLogRead | null, rest: readonly ReadEvent[]): void {
    if (this.#isClosed) return read?.close();
    this.#drop(after);
    const [oldest] = this.#continuations.keys();
    if (oldest !== undefined && this.#continuations.size >= openMax) this.#drop(oldest);
    const idle = setTimeout(() => this.#drop(after), idleMaxMs).unref();
    this.#continuations.set(after, { read, rest, idle });
  }

  /** One reader alone continues it. */
  #take(after: Position): Continuation | null {
    const continuation = this.#continuations.get(after) ?? null;
    clearTimeout(continuation?.idle);
    this.#continuations.delete(after);
    return continuation;
  }

  #drop(after: Position): void {
    this.#take(after)?.read?.close();
  }
}

/** A page while it is being read. */
class PageSoFar {
  position: Position;
  isFull = false;
  readonly lookMax: number;
  /** Of the event at the position, if it is known. */
  #eventId: string | undefined;
  readonly #events: RecordedEvent[] = [];
  readonly #streamPrefixes: readonly string[] | undefined;
  readonly #pageMax: number;
  #looked = 0;

  constructor(
    { after, streamPrefixes, pageMax }: ReadLogOptions,
    limits: Pick<LogPagesLimits, 'pageMax' | 'pageEventsMax'>,
  ) {
    this.position = after;
    this.#streamPrefixes = streamPrefixes;
    this.#pageMax = pageMax ?? limits.pageMax;
    this.lookMax = Math.max(this.#pageMax, limits.pageEventsMax);
  }

  /** True once the page is full. */
  add({ position, recorded }: ReadEvent): boolean {
    if (position <= this.position) return false;
    this.position = position;
    this.#eventId = recorded?.id;
    this.#looked += 1;
    if (recorded !== null && this.#isWanted(recorded.streamId)) this.#events.push(recorded);
    this.isFull = this.#events.length === this.#pageMax || this.#looked === this.lookMax;
    return this.isFull;
  }

  /** How many of the events it has looked at. */
  addUntilFull(events: readonly ReadEvent[]): number {
    const last = events.findIndex((event) => this.add(event));
    return last < 0 ? events.length : last + 1;
  }

  done(): LogPage {
    const page = { events: this.#events, position: this.position };
    return this.#eventId === undefined ? page : { ...page, eventId: this.#eventId };
  }

  #isWanted(streamId: string): boolean {
    return this.#streamPrefixes?.some((prefix) => streamId.startsWith(prefix)) ?? true;
  }
}
