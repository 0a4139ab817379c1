/** A loop that works, then waits for a wake-up, for the time that the round asked for, or for its poll interval. */
import { Bell, pause, untilNextMs } from './wake-up.js';

export interface WakeLoopOptions {
  /**
   * One round. Returns the milliseconds until the next one; null means the poll interval. A long round calls
   * `wentWell` when it has done something.
   */
  readonly round: (wentWell: () => void) => Promise<number | null>;
  /** The longest wait, read before each wait: the wake-up is a hint and may be missing. */
  readonly pollMs: () => number;
  /** A failed round is repeated after this, doubling up to retryMaxMs. */
  readonly retryInitialMs: number;
  readonly retryMaxMs: number;
  /** Called once when rounds begin to fail and once when they succeed again. */
  readonly onFailure: (error: unknown) => void;
  readonly onRecovery: () => void;
}

export class WakeLoop {
  private readonly bell = new Bell();
  private readonly stopping = new AbortController();
  private running: Promise<void> | null = null;

  constructor(private readonly options: WakeLoopOptions) {}

  start(): void {
    this.running ??= this.run();
  }

  /** The next round begins at once, or right after the one that runs. */
  wake(): void {
    this.bell.ring();
  }

  /**
   * Resolves when the current round has ended, or after limitMs: the round is then abandoned as if the
   * process had died in it.
   * @returns whether it has ended
   */
  async stop(limitMs: number): Promise<boolean> {
    this.stopping.abort();
    const waiting = new AbortController();
    const late = pause(limitMs, waiting.signal).then(() => false);
    const hasEnded = await Promise.race([this.running?.then(() => true) ?? true, late]);
    waiting.abort();
    return hasEnded;
  }

  private async run(): Promise<void> {
    const { round, pollMs, retryInitialMs, retryMaxMs, onFailure, onRecovery } = this.options;
    const { signal } = this.stopping;
    let failures = 0;
    const wentWell = () => {
      if (failures > 0) onRecovery();
      failures = 0;
    };
    while (!signal.aborted) {
      const { rung } = this.bell;
      try {
        const nextInMs = await round(wentWell);
        wentWell();
        const longestMs = untilNextMs(pollMs());
        await this.bell.wait(rung, Math.min(nextInMs ?? longestMs, longestMs), signal);
      } catch (error) {
        if (failures === 0) onFailure(error);
        failures += 1;
        // A wake-up does not shorten this pause: more work is no reason to call an unavailable dependency.
        await pause(Math.min(retryInitialMs * 2 ** Math.min(failures - 1, 16), retryMaxMs), signal);
      }
    }
  }
}
