/** A partition that this process reads (in embedded mode the whole log), and its progress. */
import type { Delivery, MessagePage } from './message.js';

export interface PartitionLimits {
  /** Messages of a partition that wait or are being handled. At this number the reader must pause. */
  readonly inFlightMax: number;
  /** Messages from the first unfinished one on, done or not. A crash would repeat them. */
  readonly uncommittedMax: number;
}

/** An ordered sequence of deliveries and its progress. */
export class Partition {
  readonly #uncommitted = new Uncommitted();
  readonly #abandon = new AbortController();
  #unfinished = 0;
  #done: Done = { position: null, eventId: undefined };
  #kindsRead: MessagePage['kindsRead'];
  #waiting: (() => void)[] = [];

  constructor(
    readonly name: string,
    private readonly limits: PartitionLimits,
    private readonly onAdvance: (count: number) => void,
    private readonly enter: (item: Item) => void,
    private readonly nowMs: () => number,
  ) {}

  /**
   * Takes the next delivery. `position` is the resume position once it and all before it are done, or null.
   * @param eventId of the event at the position, in a log of events
   */
  submit(
    delivery: Omit<Delivery, 'attempt'>,
    position: string | null,
    eventId?: string | undefined,
  ): void {
    if (this.abandoned) return;
    const entry: Entry = { position, eventId, done: false, takenMs: this.nowMs() };
    this.#uncommitted.push(entry);
    this.#unfinished += 1;
    this.enter({
      partition: this,
      entry,
      delivery: { ...delivery, attempt: 0 },
      isLookedUp: false,
      attempt: 0,
      tries: 0,
      failures: 0,
      failing: null,
    });
  }

  /** Adds a position without a message, and what is read then: done as soon as everything before it is done. */
  mark(position: string, eventId?: string | undefined, kindsRead?: MessagePage['kindsRead']): void {
    this.#uncommitted.push({ position, eventId, kindsRead, done: true, takenMs: this.nowMs() });
    this.#advance();
  }

  /** Where to resume: everything before is done. Null when nothing was done yet. */
  get position(): string | null {
    return this.#done.position;
  }

  /** Of the event at that position, if it is known. */
  get eventId(): string | undefined {
    return this.#done.eventId;
  }

  /** Of the last marks that are done. Undefined if none had it. */
  get kindsRead(): MessagePage['kindsRead'] {
    return this.#kindsRead;
  }

  /** Messages taken that wait or are being handled. */
  get unfinished(): number {
    return this.#unfinished;
  }

  /** The age of the oldest unfinished message. 0 when all are done. */
  get oldestUnfinishedMs(): number {
    const { first } = this.#uncommitted;
    return first === null || this.abandoned ? 0 : Math.max(0, this.nowMs() - first.takenMs);
  }

  /** Whether the reader must pause. */
  get full(): boolean {
    return (
      this.#unfinished >= this.limits.inFlightMax ||
      this.#uncommitted.length >= this.limits.uncommittedMax
    );
  }

  /** Whether the reader stands still on purpose: from a full window until `room` resolves, which is later. */
  get isPaused(): boolean {
    return this.full || this.#waiting.length > 0;
  }

  /**
   * Resolves when the reader may go on: the partition is not full and half of its in-flight window is
   * free again, or the partition was abandoned.
   */
  async room(): Promise<void> {
    if (this.full && !this.abandoned)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** No longer ours: nothing more of it starts or counts. */
  abandon(): void {
    this.#abandon.abort();
    this.#wake();
  }

  get abandoned(): boolean {
    return this.#abandon.signal.aborted;
  }

  get signal(): AbortSignal {
    return this.#abandon.signal;
  }

  settle(entry: Entry): void {
    this.#unfinished -= 1;
    entry.done = true;
    if (!this.abandoned) this.#advance();
  }

  /**
   * Runs after each settled message. Only the in-flight window must be half empty before the reader is
   * woken. The uncommitted window has no such threshold: what is behind a hanging message would never
   * fall below it, and a whole page is read per wake-up anyway.
   */
  #advance(): void {
    const { count, kindsRead, ...done } = this.#uncommitted.takeDone();
    if (done.position !== null) this.#done = done;
    if (kindsRead !== undefined) this.#kindsRead = { ...this.#kindsRead, ...kindsRead };
    if (count > 0) this.onAdvance(count);
    if (!this.full && this.#unfinished <= this.limits.inFlightMax / 2) this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

interface Done {
  readonly position: string | null;
  readonly eventId: string | undefined;
}

export interface Entry extends Done {
  readonly kindsRead?: MessagePage['kindsRead'];
  readonly takenMs: number;
  done: boolean;
}

/** Entries in log order, from the first that is not done. Taking the done prefix costs what it takes. */
class Uncommitted {
  #entries: Entry[] = [];
  /** Entries before this index are taken; they are dropped when they are more than half of the array. */
  #taken = 0;

  get length(): number {
    return this.#entries.length - this.#taken;
  }

  /** Never a done one: those are taken as soon as they are first. */
  get first(): Entry | null {
    return this.#entries[this.#taken] ?? null;
  }

  push(entry: Entry): void {
    this.#entries.push(entry);
  }

  /** Removes the contiguous done prefix. `position` is the last one in it, null when it has none. */
  takeDone(): Done & Pick<Entry, 'kindsRead'> & { readonly count: number } {
    const before = this.#taken;
    let last: Done | null = null;
    let kindsRead: MessagePage['kindsRead'];
    for (let entry = this.#entries[before]; entry?.done; entry = this.#entries[this.#taken]) {
      if (entry.position !== null) last = entry;
      if (entry.kindsRead !== undefined) kindsRead = { ...kindsRead, ...entry.kindsRead };
      this.#taken += 1;
    }
    const count = this.#taken - before;
    if (this.#taken > this.#entries.length / 2) {
      this.#entries = this.#entries.slice(this.#taken);
      this.#taken = 0;
    }
    return { count, kindsRead, position: last?.position ?? null, eventId: last?.eventId };
  }
}

/** A message in the queue of its key. */
export interface Item {
  readonly partition: Partition;
  readonly entry: Entry;
  readonly delivery: Delivery;
  /** Whether it is known that no older message of its key waits in the retry table. */
  isLookedUp: boolean;
  /** Times the handler was called. */
  attempt: number;
  /** Times something was tried, the handler or a look-up: what the backoff grows with. */
  tries: number;
  /** Attempts that count towards the dead letters. */
  failures: number;
  /** Null before the first failed attempt. */
  failing: { readonly sinceMs: number; readonly successes: number } | null;
}
