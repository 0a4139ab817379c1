/**
 * Lanes: the engine both transports share. A run is an ordered sequence of deliveries (a partition, or
 * the whole log of the embedded mode); inside it each key is a lane.
 *
 * What always holds:
 * - one key's messages are handled one after the other, in order; different keys in parallel;
 * - a run's position is only ever past messages that were handled, durably deferred or durably parked,
 *   without a gap;
 * - a lane that waits for its next attempt takes no handler slot, so it holds up nobody else;
 * - a message that keeps failing while others succeed is deferred to the retry table after a bounded
 *   time, and the later ones of its key behind it; while everything fails nothing is deferred;
 * - a message is never dropped: parking or deferring that fails is tried again.
 *
 * Waiting is the injected `delay`, time the injected `nowMs`.
 */
import { attempt, type AttemptOptions, backoffMs, type Delay, judge, tell } from './attempts.js';
import type { Deferral } from './deferral.js';
import { errorText, isNonRetryable } from './errors.js';
import type { Delivery } from './message.js';
import { type Item, Run, type RunLimits } from './run.js';

export interface LaneLimits extends RunLimits {
  /** Handlers running at once, over all keys and runs. */
  readonly concurrencyMax: number;
  /** Failed attempts, transient ones not counted, after which a message is parked. */
  readonly attemptsMax: number;
  readonly backoffInitialMs: number;
  readonly backoffMaxMs: number;
  /** So long a message may fail in its run. Then it is deferred at the next failure beside a success. */
  readonly deferAfterMs: number;
}

export const defaultLaneLimits: LaneLimits = {
  concurrencyMax: 32,
  attemptsMax: 8,
  backoffInitialMs: 100,
  backoffMaxMs: 30_000,
  deferAfterMs: 60_000,
  inFlightMax: 1_000,
  uncommittedMax: 10_000,
};

export interface LanesOptions extends AttemptOptions {
  readonly limits: LaneLimits;
  /** Resolves once the message rests durably among the dead letters. */
  readonly park: (delivery: Delivery, error: unknown) => Promise<void>;
  readonly deferral: Pick<Deferral, 'mayHold' | 'follow' | 'defer' | 'recheck'>;
  readonly delay: Delay;
  readonly nowMs: () => number;
}

export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #ready: Lane[] = [];
  readonly #working = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #active = 0;
  /** Handled so far, of all keys and runs: tells a message that fails from everything failing. */
  #successes = 0;

  constructor(readonly options: LanesOptions) {}

  /**
   * A new run, opened once its place in the log is known. `name` tells runs apart; a run opened after
   * an abandoned one of the same name waits per key for its leftovers.
   */
  open(name: string, onAdvance: (count: number) => void): Run {
    const { limits, nowMs, deferral } = this.options;
    deferral.recheck();
    return new Run(name, limits, onAdvance, (item) => this.#enter(item), nowMs);
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

  /** One try at the head of a lane, and what follows from it. Never rejects. */
  async #work(lane: Lane, item: Item): Promise<void> {
    item.tries += 1;
    const outcome =
      item.isLookedUp || !this.options.deferral.mayHold ? null : await this.#lookUp(item);
    if (outcome !== null) {
      this.#active -= 1;
      this.#pump();
      if (outcome === 'follows') return this.#done(lane, item);
      return this.#later(lane, item);
    }
    item.isLookedUp = true;
    item.attempt += 1;
    const delivery = { ...item.delivery, attempt: item.attempt };
    const failure = await attempt(this.options, delivery);
    this.#active -= 1;
    if (failure === null) this.#successes += 1;
    this.#pump();

    if (failure === null) return this.#done(lane, item);
    const { error } = failure;
    const { attemptsMax } = this.options.limits;
    const { givesUp, failures } = judge(this.options, error, item.failures, attemptsMax);
    item.failures = failures;
    const isPutAway = givesUp
      ? await this.#park(item, delivery, error)
      : this.#fails(item) && (await this.#defer(item, delivery, error));
    return isPutAway ? this.#done(lane, item) : this.#later(lane, item);
  }

  /** Whether older messages of the key are in the retry table; then this one goes in behind them. */
  async #lookUp(item: Item): Promise<'follows' | 'failed' | null> {
    try {
      if (await this.options.deferral.follow(item.delivery)) return 'follows';
    } catch (error) {
      // What no table can hold is not readable either: the attempt finds that out, and parks it.
      if (!isNonRetryable(error)) {
        this.#problem('looking into the retry table', error);
        return 'failed';
      }
    }
    // Meanwhile the run may have gone to another process.
    return item.run.abandoned ? 'failed' : null;
  }

  /** Notes a failed attempt. @returns whether the message has failed for too long while others succeed */
  #fails(item: Item): boolean {
    const nowMs = this.options.nowMs();
    const before = item.failing;
    item.failing = { sinceMs: before?.sinceMs ?? nowMs, successes: this.#successes };
    if (before === null || item.run.abandoned) return false;
    const isLong = nowMs - before.sinceMs >= this.options.limits.deferAfterMs;
    return isLong && this.#successes > before.successes;
  }

  /** One try: what is to be deferred may as well be attempted again. */
  async #defer(item: Item, delivery: Delivery, error: unknown): Promise<boolean> {
    const { backoffInitialMs, backoffMaxMs } = this.options.limits;
    try {
      await this.options.deferral.defer(delivery, {
        error: errorText(error),
        failures: item.failures,
        dueInMs: backoffMs(item.tries, backoffInitialMs, backoffMaxMs),
      });
    } catch (deferringError) {
      this.#problem('deferring a message', deferringError);
      return false;
    }
    tell(this.options.observe, (observe) => observe.deferred?.(delivery, error));
    return true;
  }

  /** Tries until the message is parked, the run is no longer ours or we stop. */
  async #park(item: Item, delivery: Delivery, error: unknown): Promise<boolean> {
    for (let tries = 1; !item.run.abandoned && !this.#stop.signal.aborted; tries += 1) {
      try {
        await this.options.park(delivery, error);
        tell(this.options.observe, (observe) => observe.parked?.(delivery, error));
        return true;
      } catch (parkingError) {
        this.#problem('parking a message', parkingError);
        await this.#backoff(item, tries);
      }
    }
    return false;
  }

  #problem(doing: string, error: unknown): void {
    tell(this.options.observe, (observe) => observe.problem?.(doing, error));
  }

  #backoff(item: Item, tries: number): Promise<void> {
    const { backoffInitialMs, backoffMaxMs } = this.options.limits;
    const ms = backoffMs(tries, backoffInitialMs, backoffMaxMs);
    return this.options.delay(ms, AbortSignal.any([item.run.signal, this.#stop.signal]));
  }

  #done(lane: Lane, item: Item): void {
    item.run.settle(item.entry);
    this.#leave(lane);
    this.#pump();
  }

  /** The head of the lane is tried again after a pause that takes no handler slot. */
  async #later(lane: Lane, item: Item): Promise<void> {
    await this.#backoff(item, item.tries);
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

/** One key of one run: its messages in order, the head being the one that is worked on. */
interface Lane {
  readonly name: string;
  readonly queue: Item[];
}
