/**
 * Works off the retry table of a group. It claims due keys, tries the first message of each, and continues
 * with the key's next message as long as they succeed. Every process of the group runs one. Leases divide
 * the keys among them, and a dead process leaves its keys to the others when its leases end.
 *
 * The cost is one small query each `idlePollMs` while the table is empty. Otherwise a round claims no more
 * keys than there are free slots, however many wait. The next round follows after `retryPollMs`, or at once
 * when a key was worked off. So failing messages cost little, and a backlog is handled quickly.
 */
import { attempt, type AttemptOptions, backoffMs, type Delay, judge, notify } from './attempts.js';
import type { Deferral } from './deferral.js';
import type { DeferredMessage, DeferredMessages } from './deferred-messages.js';
import { errorText } from './errors.js';
import type { Delivery } from './message.js';
import { waitingSince } from './message-headers.js';

export interface RetryLimits {
  /** Keys worked on at once by this process. */
  readonly retryConcurrencyMax: number;
  /** Messages of a key handled under one claim. Then other due keys have their turn. */
  readonly retryMessagesMax: number;
  /** Between two attempts at a message in the table; doubled each time up to the limit. */
  readonly retryInitialMs: number;
  readonly retryMaxMs: number;
  /** How soon due messages are noticed. */
  readonly retryPollMs: number;
  /** How soon messages of another process are noticed in an empty table. */
  readonly idlePollMs: number;
  /** How long the keys of a dead process wait for the others. */
  readonly leaseMs: number;
}

export const defaultRetryLimits: RetryLimits = {
  retryConcurrencyMax: 16,
  retryMessagesMax: 100,
  retryInitialMs: 1_000,
  retryMaxMs: 60_000,
  retryPollMs: 1_000,
  idlePollMs: 15_000,
  leaseMs: 30_000,
};
/** Until the table is asked again after a failure, at most. */
const failedPollMaxMs = 5_000;

export interface DeferredRetriesOptions extends AttemptOptions {
  readonly group: string;
  readonly table: DeferredMessages;
  readonly deferral: Pick<Deferral, 'look'>;
  readonly limits: RetryLimits;
  /** As in the key queues. */
  readonly attemptsMax: number;
  readonly park: (delivery: Delivery, error: unknown) => Promise<void>;
  readonly delay: Delay;
}

export class DeferredRetries {
  /** Claims that are worked on. */
  readonly #held = new Set<DeferredMessage>();
  readonly #working = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #abandoned = false;
  #wake = new AbortController();
  #loop: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: DeferredRetriesOptions) {}

  start(): void {
    this.#loop = Promise.all([this.#run(), this.#prolong()]);
  }

  /** Polls again at once. */
  wake(): void {
    this.#wake.abort();
  }

  /** Claims nothing more and waits for running handlers. Returns the keys that have had their turn. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.wake();
    await this.#loop;
    await Promise.allSettled([...this.#working]);
  }

  /** Stops at once, as if the process had died here: running handlers change nothing in the table. */
  abandon(): void {
    this.#abandoned = true;
    this.#stop.abort();
    this.wake();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      const { signal: woken } = this.#wake;
      await this.options.delay(await this.#round(), woken);
    }
  }

  /** @returns the milliseconds until the next poll */
  async #round(): Promise<number> {
    const { group, table, deferral, limits } = this.options;
    try {
      if ((await deferral.look()).isEmpty) return limits.idlePollMs;
      const free = limits.retryConcurrencyMax - this.#held.size;
      const claimed = free > 0 ? await table.claim(group, free, limits.leaseMs) : [];
      for (const message of claimed) this.#begin(message);
      return limits.retryPollMs;
    } catch (error) {
      this.#problem('looking into the retry table', error);
      return Math.min(limits.idlePollMs, failedPollMaxMs);
    }
  }

  #begin(claimed: DeferredMessage): void {
    this.#held.add(claimed);
    const work = this.#workOff(claimed).then(
      (hasSucceeded) => {
        this.#held.delete(claimed);
        if (hasSucceeded) this.wake();
      },
      (error: unknown) => {
        this.#held.delete(claimed);
        // The lease ends by itself: what was handled and could not be settled is handled again.
        this.#problem('settling a message of the retry table', error);
      },
    );
    this.#working.add(work);
    void work.finally(() => this.#working.delete(work));
  }

  /**
   * The messages of one claimed key, until one fails, none is left or the turn is over.
   * @returns whether it ended without a failure
   */
  async #workOff(claimed: DeferredMessage): Promise<boolean> {
    const { group, table, limits } = this.options;
    let message: DeferredMessage | null = claimed;
    for (let done = 0; message !== null; done += 1) {
      if (this.#stop.signal.aborted || done === limits.retryMessagesMax) {
        if (!this.#abandoned) await table.renew(group, [message], 0);
        return true;
      }
      const isDone = await this.#try(message);
      if (!isDone || this.#abandoned) return false;
      message = await table.settle(group, message);
    }
    return true;
  }

  /** One attempt. @returns whether the message is done: handled, or parked among the dead letters */
  async #try(message: DeferredMessage): Promise<boolean> {
    const { group, table, attemptsMax, limits, park, observe } = this.options;
    const { headers, attempt: attempts } = message.delivery;
    const delivery = {
      ...message.delivery,
      headers: waitingSince(message.deferredAt, headers),
      attempt: attempts + 1,
    };
    const failure = await attempt(this.options, delivery);
    if (failure === null) return true;
    if (this.#abandoned) return false;
    const { error } = failure;
    const { givesUp, failures } = judge(error, message.failures, attemptsMax);
    if (givesUp) {
      try {
        await park(delivery, error);
        notify(observe, (observer) => observer.parked?.(delivery, error));
        return true;
      } catch (parkingError) {
        this.#problem('parking a message', parkingError);
      }
    }
    await table.postpone(
      group,
      { ...message, delivery },
      {
        error: errorText(error),
        // Parking failed: the next failure tries it again.
        failures: givesUp ? Math.min(failures, attemptsMax - 1) : failures,
        dueInMs: backoffMs(delivery.attempt, limits.retryInitialMs, limits.retryMaxMs),
      },
    );
    return false;
  }

  /** Leases last as long as the handlers that run under them. */
  async #prolong(): Promise<void> {
    const { group, table, limits, delay } = this.options;
    const { signal } = this.#stop;
    for (;;) {
      await delay(limits.leaseMs / 3, signal);
      if (signal.aborted) return;
      try {
        if (this.#held.size > 0) await table.renew(group, [...this.#held], limits.leaseMs);
      } catch (error) {
        this.#problem('prolonging leases of the retry table', error);
      }
    }
  }

  #problem(doing: string, error: unknown): void {
    notify(this.options.observe, (observe) => observe.problem?.(doing, error));
  }
}
