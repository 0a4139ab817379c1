/** Repeats a task, round after round, until it is stopped. Rounds never overlap. */
import { Bell, pause } from '@pis/postgres';

export { Bell, earlierClock, type WakeUp, type WakeUps } from '@pis/postgres';

export interface RepeatedTask {
  /** Runs one round. @returns the pause until the next one, in ms */
  readonly round: (signal: AbortSignal) => Promise<number>;
  /** Logs why a round failed. @returns the pause until the next one, in ms. It doubles with each failure in a row, up to 5 s */
  readonly failed: (error: unknown) => number;
  /** Cuts the pause after a round short. It does not shorten one after a failure. */
  readonly bell?: Bell;
}

const backoffMaxMs = 5_000;
/** Longer than the time limit of a statement. */
const longRoundMs = 60_000;

export class Repeating {
  private readonly stopping = new AbortController();
  private loop: Promise<void> = Promise.resolve();

  constructor(private readonly task: RepeatedTask) {}

  start(): void {
    this.loop = this.run();
  }

  /** Resolves when the current round has ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
  }

  private async run(): Promise<void> {
    const { round, failed, bell = new Bell() } = this.task;
    const { signal } = this.stopping;
    let failures = 0;
    while (!signal.aborted) {
      const { rung } = bell;
      const startedMs = performance.now();
      try {
        const pauseMs = await round(signal);
        failures = 0;
        await bell.wait(rung, pauseMs, signal);
      } catch (error) {
        // Such a round worked before it failed.
        if (performance.now() - startedMs > longRoundMs) failures = 0;
        const pauseMs = failed(error);
        const backoffMs = Math.min(pauseMs * 2 ** Math.min(failures, 16), backoffMaxMs);
        failures += 1;
        await pause(Math.max(pauseMs, backoffMs), signal);
      }
    }
  }
}
