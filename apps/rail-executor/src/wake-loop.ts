/** A loop that works, then waits: until woken, until its own next date, and never longer than its poll interval. */

import { setTimeout as delay } from 'node:timers/promises';

export interface WakeLoopOptions {
  /** One round. Says after how many milliseconds it wants the next one; null leaves it to the poll. */
  readonly round: () => Promise<number | null>;
  /** The longest wait, asked before each one: the wake-up is a hint and may be missing. */
  readonly pollMs: () => number;
  /** A failed round is repeated after this, doubling up to retryMaxMs. */
  readonly retryInitialMs: number;
  readonly retryMaxMs: number;
  /** Told once when rounds begin to fail and once when they succeed again. */
  readonly onFailure: (error: unknown) => void;
  readonly onRecovery: () => void;
}

export class WakeLoop {
  private running: Promise<void> | null = null;
  private stopping = false;
  private woken = false;
  /** What is away is not asked faster because there is more to ask. */
  private backingOff = false;
  private endWait: (() => void) | null = null;

  constructor(private readonly options: WakeLoopOptions) {}

  start(): void {
    this.running ??= this.run();
  }

  /** The next round begins at once, or right after the one that runs. */
  wake(): void {
    this.woken = true;
    if (!this.backingOff) this.endWait?.();
  }

  /**
   * Resolves when the round that runs has ended, or after limitMs: it is then left alone as if the
   * process had died in it.
   * @returns whether it has ended
   */
  async stop(limitMs: number): Promise<boolean> {
    this.stopping = true;
    this.endWait?.();
    const late = new AbortController();
    const limit = delay(limitMs, false, { signal: late.signal }).catch(() => false);
    const ended = await Promise.race([this.running?.then(() => true) ?? true, limit]);
    late.abort();
    return ended;
  }

  private async run(): Promise<void> {
    const { round, pollMs, retryInitialMs, retryMaxMs, onFailure, onRecovery } = this.options;
    let failures = 0;
    while (!this.stopping) {
      this.woken = false;
      try {
        const nextInMs = await round();
        if (failures > 0) onRecovery();
        failures = 0;
        const longestMs = pollMs();
        await this.wait(Math.min(nextInMs ?? longestMs, longestMs));
      } catch (error) {
        if (failures === 0) onFailure(error);
        failures += 1;
        this.woken = false;
        this.backingOff = true;
        await this.wait(Math.min(retryInitialMs * 2 ** Math.min(failures - 1, 16), retryMaxMs));
        this.backingOff = false;
      }
    }
  }

  private wait(ms: number): Promise<void> {
    if (this.stopping || this.woken) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.endWait?.(), ms);
      this.endWait = () => {
        clearTimeout(timer);
        this.endWait = null;
        resolve();
      };
    });
  }
}
