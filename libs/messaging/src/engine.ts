/**
 * Handles the messages of a consumer group for every transport: the key queues, the retry table and its
 * worker, and the figures that are published at intervals.
 */
import { type ConsumerProgress, notify } from './attempts.js';
import { Deferral } from './deferral.js';
import { DeferredRetries, type RetryLimits } from './deferred-retries.js';
import { atMost } from './delay.js';
import { KeyQueues, type KeyQueuesOptions } from './key-queues.js';
import type { DeferredMessages } from './deferred-messages.js';
import type { Partition } from './partition.js';

export interface EngineOptions extends Omit<KeyQueuesOptions, 'deferral'> {
  readonly group: string;
  readonly deferred: DeferredMessages;
  readonly retryLimits: RetryLimits;
  readonly progressIntervalMs: number;
}

/** What only the transport knows. */
export type MeasureProgress = () => Promise<Omit<ConsumerProgress, 'deferred'>>;

export class ConsumerEngine {
  readonly #queues: KeyQueues;
  readonly #retries: DeferredRetries;
  readonly #deferral: Deferral;
  #reports: NodeJS.Timeout | null = null;
  #isReporting = false;

  constructor(private readonly options: EngineOptions) {
    const { group, deferred: table, limits, retryLimits } = options;
    this.#deferral = new Deferral(group, table, () => this.#retries.wake());
    this.#retries = new DeferredRetries({
      ...options,
      table,
      deferral: this.#deferral,
      limits: retryLimits,
      attemptsMax: limits.attemptsMax,
    });
    this.#queues = new KeyQueues({ ...options, deferral: this.#deferral });
  }

  open(name: string, onAdvance: (count: number) => void): Partition {
    return this.#queues.open(name, onAdvance);
  }

  /** The position in the log is known only now, so the earlier state of the retry table is stale. */
  recheck(): void {
    this.#deferral.recheck();
  }

  start(measure: MeasureProgress): void {
    this.#retries.start();
    const report = () => void this.#report(measure);
    this.#reports = setInterval(report, this.options.progressIntervalMs).unref();
  }

  /**
   * Starts no further handler and waits for running ones, `drainMs` at most.
   * @returns whether all of them ended in time
   */
  async stop(drainMs: number): Promise<boolean> {
    const ended = await Promise.all([
      this.#queues.stop(drainMs),
      atMost(drainMs, this.#retries.stop()),
    ]);
    return ended.every((inTime) => inTime);
  }

  /** Ends the background work. The caller that opened a partition abandons it. */
  abandon(): void {
    this.#retries.abandon();
    if (this.#reports !== null) clearInterval(this.#reports);
  }

  /** One report at a time: a database that hangs must not pile them up. */
  async #report(measure: MeasureProgress): Promise<void> {
    if (this.#isReporting) return;
    this.#isReporting = true;
    const [measured, deferred] = await Promise.allSettled([measure(), this.#backlog()]);
    this.#isReporting = false;
    if (measured.status === 'rejected') {
      notify(this.options.observe, (observe) =>
        observe.problem?.('measuring the lag', measured.reason),
      );
      return;
    }
    const progress = {
      ...measured.value,
      deferred: deferred.status === 'fulfilled' ? deferred.value : null,
    };
    notify(this.options.observe, (observe) => observe.progress?.(progress));
  }

  async #backlog() {
    if (!this.#deferral.mayHold) return { messages: 0, oldestAgeMs: 0 };
    return this.options.deferred.backlog(this.options.group);
  }
}
