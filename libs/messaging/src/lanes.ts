/**
 * Lanes: the engine both transports share. A run is an ordered sequence of deliveries (a partition, or
 * the whole log of the embedded mode); inside it each key is a lane.
 *
 * What always holds:
 * - one key's messages are handled one after the other, in order; different keys in parallel;
 * - a run's position is only ever past messages that were handled or durably parked, without a gap;
 * - a lane that waits for its next attempt takes no handler slot, so it holds up nobody else;
 * - a message is never dropped: parking that fails is tried again.
 *
 * No clock in here but the duration it reports: waiting is the injected `delay`.
 */
import { isNonRetryable, isTransient } from './errors.js';
import type { Delivery } from './message.js';

export interface LaneLimits {
  /** Handlers running at once, over all keys and runs. */
  readonly concurrencyMax: number;
  /** Failed attempts, transient ones not counted, after which a message is parked. */
  readonly attemptsMax: number;
  readonly backoffInitialMs: number;
  readonly backoffMaxMs: number;
  /** Messages of a run that wait or are being handled; beyond it the reader must pause. */
  readonly inFlightMax: number;
  /** Messages of a run behind one that is not done, done or not: what a crash would deliver again. */
  readonly uncommittedMax: number;
}

export const defaultLaneLimits: LaneLimits = {
  concurrencyMax: 32,
  attemptsMax: 8,
  backoffInitialMs: 100,
  backoffMaxMs: 30_000,
  inFlightMax: 1_000,
  uncommittedMax: 10_000,
};

/** Hooks for metrics and logs. */
export interface ConsumerObserver {
  /** After each attempt; `failed` ones are tried again or parked. */
  handled?(delivery: Delivery, outcome: 'handled' | 'failed', durationMs: number): void;
  parked?(delivery: Delivery, error: unknown): void;
  /** Messages that the group has not done yet, as far as it knows. */
  lag?(messages: number): void;
  /** Something failed that is tried again: what was being done, and why it failed. */
  problem?(doing: string, error: unknown): void;
}

/** Resolves after the time or at once when the signal aborts; never rejects. */
export type Delay = (ms: number, signal: AbortSignal) => Promise<void>;

export interface LanesOptions {
  readonly limits: LaneLimits;
  readonly handle: (delivery: Delivery) => Promise<void>;
  /** Resolves once the message rests durably among the dead letters. */
  readonly park: (delivery: Delivery, error: unknown) => Promise<void>;
  readonly delay: Delay;
  readonly isTransient?: (error: unknown) => boolean;
  readonly observe?: ConsumerObserver;
}

export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #ready: Lane[] = [];
  readonly #working = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #active = 0;

  constructor(readonly options: LanesOptions) {}

  /** A new run. `name` tells runs apart; a run opened after an abandoned one of the same name waits per key for its leftovers. */
  open(name: string, onAdvance: (count: number) => void): Run {
    return new Run(name, this.options.limits, onAdvance, (item) => this.#enter(item));
  }

  /**
   * Starts no further handler and waits for those that run, `drainMs` at most.
   * @returns whether all of them ended in time
   */
  async stop(drainMs: number): Promise<boolean> {
    this.#stop.abort();
    const limit = new AbortController();
    const drained = Promise.allSettled([...this.#working]).then(() => true);
    const late = this.options.delay(drainMs, limit.signal).then(() => false);
    const inTime = await Promise.race([drained, late]);
    limit.abort();
    return inTime;
  }

  #enter(item: Item): void {
    const name = `${item.run.name}\0${item.delivery.key}`;
    const lane = this.#lanes.get(name);
    if (lane !== undefined) {
      lane.queue.push(item);
      return;
    }
    const fresh: Lane = { name, queue: [item] };
    this.#lanes.set(name, fresh);
    this.#ready.push(fresh);
    this.#pump();
  }

  #pump(): void {
    while (!this.#stop.signal.aborted && this.#active < this.options.limits.concurrencyMax) {
      const lane = this.#ready.shift();
      if (lane === undefined) return;
      const item = lane.queue[0];
      if (item === undefined || item.run.abandoned) {
        this.#leave(lane);
        continue;
      }
      this.#active += 1;
      const work = this.#work(lane, item);
      this.#working.add(work);
      void work.finally(() => this.#working.delete(work));
    }
  }

  /** One attempt at the head of a lane, and what follows from it. Never rejects. */
  async #work(lane: Lane, item: Item): Promise<void> {
    item.attempt += 1;
    const delivery = { ...item.delivery, attempt: item.attempt };
    const failure = await this.#attempt(delivery);
    this.#active -= 1;
    this.#pump();

    if (failure === null) return this.#done(lane, item);
    if (this.#givesUp(item, failure.error)) {
      if (await this.#park(item, delivery, failure.error)) this.#done(lane, item);
      else this.#again(lane);
      return;
    }
    await this.#backoff(item, item.attempt);
    this.#again(lane);
  }

  #givesUp(item: Item, error: unknown): boolean {
    if (isNonRetryable(error)) return true;
    if ((this.options.isTransient ?? isTransient)(error)) return false;
    item.failures += 1;
    return item.failures >= this.options.limits.attemptsMax;
  }

  async #attempt(delivery: Delivery): Promise<{ error: unknown } | null> {
    const startedMs = performance.now();
    const observed = (outcome: 'handled' | 'failed') => {
      const durationMs = performance.now() - startedMs;
      this.#tell((observe) => observe.handled?.(delivery, outcome, durationMs));
    };
    try {
      await this.options.handle(delivery);
    } catch (error) {
      observed('failed');
      return { error };
    }
    observed('handled');
    return null;
  }

  /** Tries until the message is parked, the run is no longer ours or we stop. */
  async #park(item: Item, delivery: Delivery, error: unknown): Promise<boolean> {
    for (let tries = 1; !item.run.abandoned && !this.#stop.signal.aborted; tries += 1) {
      try {
        await this.options.park(delivery, error);
        this.#tell((observe) => observe.parked?.(delivery, error));
        return true;
      } catch (parkingError) {
        this.#tell((observe) => observe.problem?.('parking a message', parkingError));
        await this.#backoff(item, tries);
      }
    }
    return false;
  }

  /** A faulty observer must not stop a lane. */
  #tell(what: (observe: ConsumerObserver) => void): void {
    try {
      if (this.options.observe !== undefined) what(this.options.observe);
    } catch (error) {
      process.emitWarning(`an observer of the consumer failed: ${String(error)}`);
    }
  }

  #backoff(item: Item, attempt: number): Promise<void> {
    const { backoffInitialMs, backoffMaxMs } = this.options.limits;
    const ms = Math.min(backoffInitialMs * 2 ** Math.min(attempt - 1, 30), backoffMaxMs);
    return this.options.delay(ms, AbortSignal.any([item.run.signal, this.#stop.signal]));
  }

  #done(lane: Lane, item: Item): void {
    item.run.settle(item.entry);
    this.#leave(lane);
    this.#pump();
  }

  #again(lane: Lane): void {
    this.#ready.push(lane);
    this.#pump();
  }

  /** The head of the lane is over, one way or the other: the next one's turn. */
  #leave(lane: Lane): void {
    lane.queue.shift();
    if (lane.queue.length === 0) this.#lanes.delete(lane.name);
    else this.#ready.push(lane);
  }
}

/** An ordered sequence of deliveries and how far it is done. */
export class Run {
  readonly #uncommitted = new Uncommitted();
  readonly #abandon = new AbortController();
  #unfinished = 0;
  #position: string | null = null;
  #waiting: (() => void)[] = [];

  constructor(
    readonly name: string,
    private readonly limits: LaneLimits,
    private readonly onAdvance: (count: number) => void,
    private readonly enter: (item: Item) => void,
  ) {}

  /** Takes the next delivery. `position` is where to resume once it and all before it are done; null: nowhere. */
  submit(delivery: Omit<Delivery, 'attempt'>, position: string | null): void {
    if (this.abandoned) return;
    const entry: Entry = { position, done: false };
    this.#uncommitted.push(entry);
    this.#unfinished += 1;
    this.enter({
      run: this,
      entry,
      delivery: { ...delivery, attempt: 0 },
      attempt: 0,
      failures: 0,
    });
  }

  /** Notes a position without a message: done as soon as everything before it is. */
  mark(position: string): void {
    this.#uncommitted.push({ position, done: true });
    this.#advance();
  }

  /** Where to resume: everything before is done. Null when nothing was done yet. */
  get position(): string | null {
    return this.#position;
  }

  /** Messages taken that wait or are being handled. */
  get unfinished(): number {
    return this.#unfinished;
  }

  /** Whether the reader must pause. */
  get full(): boolean {
    return (
      this.#unfinished >= this.limits.inFlightMax ||
      this.#uncommitted.length >= this.limits.uncommittedMax
    );
  }

  /**
   * Resolves when the reader may go on: the run is not full and half of its in-flight window is free
   * again, or the run was abandoned.
   */
  async room(): Promise<void> {
    if (this.full && !this.abandoned)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** No longer ours: nothing further of it starts, nothing further of it counts. */
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
    const { count, position } = this.#uncommitted.takeDone();
    this.#position = position ?? this.#position;
    if (count > 0) this.onAdvance(count);
    if (!this.full && this.#unfinished <= this.limits.inFlightMax / 2) this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

interface Entry {
  readonly position: string | null;
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

  push(entry: Entry): void {
    this.#entries.push(entry);
  }

  /** Removes the contiguous done prefix. `position` is the last one in it, null when it has none. */
  takeDone(): { readonly count: number; readonly position: string | null } {
    const before = this.#taken;
    let position: string | null = null;
    for (let entry = this.#entries[before]; entry?.done; entry = this.#entries[this.#taken]) {
      position = entry.position ?? position;
      this.#taken += 1;
    }
    const count = this.#taken - before;
    if (this.#taken > this.#entries.length / 2) {
      this.#entries = this.#entries.slice(this.#taken);
      this.#taken = 0;
    }
    return { count, position };
  }
}

interface Item {
  readonly run: Run;
  readonly entry: Entry;
  readonly delivery: Delivery;
  attempt: number;
  failures: number;
}

/** One key of one run: its messages in order, the head being the one that is worked on. */
interface Lane {
  readonly name: string;
  readonly queue: Item[];
}
