/**
 * Per-key queues: how both transports handle messages. Each key of a partition has a queue.
 *
 * What always holds:
 * - The messages of one key are handled one after the other, in order. Different keys are handled in
 *   parallel.
 * - A partition's position passes a message only when that message and all before it were handled,
 *   durably deferred or durably parked.
 * - A queue that waits for its next attempt takes no handler slot, so it holds up no other queue.
 * - A message that keeps failing while others succeed is deferred to the retry table after a bounded
 *   time, and the later messages of its key follow it. While everything fails nothing is deferred.
 * - A message is never dropped. Parking or deferring that fails is retried.
 *
 * Waiting goes through the injected `delay`, time through the injected `nowMs`.
 */
import { attempt, type AttemptOptions, backoffMs, type Delay, judge, notify } from './attempts.js';
import type { Deferral } from './deferral.js';
import { errorText, NonRetryable } from './errors.js';
import type { Delivery } from './message.js';
import { type Item, Partition, type PartitionLimits } from './partition.js';

export interface KeyQueueLimits extends PartitionLimits {
  /** Concurrent handlers, over all keys and partitions. */
  readonly concurrencyMax: number;
  /** Failed attempts, transient ones not counted, after which a message is parked. */
  readonly attemptsMax: number;
  readonly backoffInitialMs: number;
  readonly backoffMaxMs: number;
  /** How long a message may fail. After that, the next failure defers it if others have succeeded meanwhile. */
  readonly deferAfterMs: number;
}

export const defaultKeyQueueLimits: KeyQueueLimits = {
  // Handlers mostly wait for a commit that they share. With 32 they all wait for the same one, and the process
  // and its database take turns. More handlers overlap, and share each commit with more others.
  concurrencyMax: 64,
  attemptsMax: 8,
  backoffInitialMs: 100,
  backoffMaxMs: 30_000,
  deferAfterMs: 60_000,
  inFlightMax: 1_000,
  uncommittedMax: 10_000,
};

export interface KeyQueuesOptions extends AttemptOptions {
  readonly limits: KeyQueueLimits;
  /** Resolves once the message is stored durably as a dead letter. */
  readonly park: (delivery: Delivery, error: unknown) => Promise<void>;
  readonly deferral: Pick<Deferral, 'mayHold' | 'follow' | 'defer' | 'recheck'>;
  readonly delay: Delay;
  readonly nowMs: () => number;
  /** From 0 up to 1; Math.random when absent. */
  readonly random?: () => number;
}

/**
 * A tenth more or less. Messages that failed together would be retried together each time: those that share a
 * statement fail by the fault of one of them, and the fault of another one never shows.
 */
const spread = 0.1;

export class KeyQueues {
  readonly #queues = new Map<string, KeyQueue>();
  readonly #ready: KeyQueue[] = [];
  readonly #working = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #active = 0;
  /** Messages handled so far, over all keys and partitions. Shows whether one message fails or everything does. */
  #successes = 0;

  constructor(readonly options: KeyQueuesOptions) {}

  /**
   * Opens a partition, once its place in the log is known. A partition that is opened again under the
   * name of an abandoned one waits, per key, for the handlers of the abandoned one that still run.
   */
  open(name: string, onAdvance: (count: number) => void): Partition {
    const { limits, nowMs, deferral } = this.options;
    deferral.recheck();
    return new Partition(name, limits, onAdvance, (item) => this.#enter(item), nowMs);
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
    const name = `${item.partition.name}\0${item.delivery.key}`;
    const queue = this.#queues.get(name);
    if (queue !== undefined) {
      queue.items.push(item);
      return;
    }
    const fresh: KeyQueue = { name, items: [item] };
    this.#queues.set(name, fresh);
    this.#ready.push(fresh);
    this.#pump();
  }

  #pump(): void {
    while (!this.#stop.signal.aborted && this.#active < this.options.limits.concurrencyMax) {
      const queue = this.#ready.shift();
      if (queue === undefined) return;
      const item = queue.items[0];
      if (item === undefined || item.partition.abandoned) {
        this.#leave(queue);
        continue;
      }
      this.#active += 1;
      const work = this.#work(queue, item);
      this.#working.add(work);
      void work.finally(() => this.#working.delete(work));
    }
  }

  /** Tries the head of a queue once and acts on the outcome. Never rejects. */
  async #work(queue: KeyQueue, item: Item): Promise<void> {
    item.tries += 1;
    const outcome =
      item.isLookedUp || !this.options.deferral.mayHold ? null : await this.#lookUp(item);
    if (outcome !== null) {
      this.#active -= 1;
      this.#pump();
      if (outcome === 'follows') return this.#done(queue, item);
      return this.#later(queue, item);
    }
    item.isLookedUp = true;
    item.attempt += 1;
    const delivery = { ...item.delivery, attempt: item.attempt };
    const failure = await attempt(this.options, delivery);
    this.#active -= 1;
    if (failure === null) this.#successes += 1;
    this.#pump();

    if (failure === null) return this.#done(queue, item);
    const { error } = failure;
    const { attemptsMax } = this.options.limits;
    const { givesUp, failures } = judge(error, item.failures, attemptsMax);
    item.failures = failures;
    const isPutAway = givesUp
      ? await this.#park(item, delivery, error)
      : this.#fails(item) && (await this.#defer(item, delivery, error));
    return isPutAway ? this.#done(queue, item) : this.#later(queue, item);
  }

  /** Whether older messages of the key are in the retry table; then this one goes in behind them. */
  async #lookUp(item: Item): Promise<'follows' | 'failed' | null> {
    try {
      if (await this.options.deferral.follow(item.delivery)) return 'follows';
    } catch (error) {
      // A message that no table can store is also unreadable: the attempt finds that out and parks it.
      if (!(error instanceof NonRetryable)) {
        this.#problem('looking into the retry table', error);
        return 'failed';
      }
    }
    // The partition may have moved to another process meanwhile.
    return item.partition.abandoned ? 'failed' : null;
  }

  /** Notes a failed attempt. @returns whether the message has failed for too long while others succeed */
  #fails(item: Item): boolean {
    const nowMs = this.options.nowMs();
    const before = item.failing;
    item.failing = { sinceMs: before?.sinceMs ?? nowMs, successes: this.#successes };
    if (before === null || item.partition.abandoned) return false;
    const isLong = nowMs - before.sinceMs >= this.options.limits.deferAfterMs;
    return isLong && this.#successes > before.successes;
  }

  /** One try: a message that cannot be deferred is attempted again. */
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
    notify(this.options.observe, (observe) => observe.deferred?.(delivery, error));
    return true;
  }

  /** Tries until the message is parked, the partition is no longer ours, or we stop. */
  async #park(item: Item, delivery: Delivery, error: unknown): Promise<boolean> {
    for (let tries = 1; !item.partition.abandoned && !this.#stop.signal.aborted; tries += 1) {
      try {
        await this.options.park(delivery, error);
        notify(this.options.observe, (observe) => observe.parked?.(delivery, error));
        return true;
      } catch (parkingError) {
        this.#problem('parking a message', parkingError);
        await this.#backoff(item, tries);
      }
    }
    return false;
  }

  #problem(doing: string, error: unknown): void {
    notify(this.options.observe, (observe) => observe.problem?.(doing, error));
  }

  async #backoff(item: Item, tries: number): Promise<void> {
    const { backoffInitialMs, backoffMaxMs } = this.options.limits;
    const exactMs = backoffMs(tries, backoffInitialMs, backoffMaxMs);
    const ms = exactMs * (1 + spread * (2 * (this.options.random ?? Math.random)() - 1));
    // Not AbortSignal.any: signals that live long keep something of each one made from them.
    const ending = new AbortController();
    const end = () => ending.abort();
    const signals = [item.partition.signal, this.#stop.signal];
    for (const signal of signals) signal.addEventListener('abort', end, { once: true });
    if (signals.some(({ aborted }) => aborted)) end();
    try {
      await this.options.delay(ms, ending.signal);
    } finally {
      for (const signal of signals) signal.removeEventListener('abort', end);
    }
  }

  #done(queue: KeyQueue, item: Item): void {
    item.partition.settle(item.entry);
    this.#leave(queue);
    this.#pump();
  }

  /** Retries the head of the queue after a pause that takes no handler slot. */
  async #later(queue: KeyQueue, item: Item): Promise<void> {
    await this.#backoff(item, item.tries);
    this.#ready.push(queue);
    this.#pump();
  }

  /** Removes the head of the queue. The next message follows. */
  #leave(queue: KeyQueue): void {
    queue.items.shift();
    if (queue.items.length === 0) this.#queues.delete(queue.name);
    else this.#ready.push(queue);
  }
}

/** The messages of one key of one partition, in order. The head is being handled. */
interface KeyQueue {
  readonly name: string;
  readonly items: Item[];
}
