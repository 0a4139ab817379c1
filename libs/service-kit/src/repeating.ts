/** Repeats a task, round after round, until it is stopped. Rounds never overlap. */
import { Bell, pause } from '@pis/postgres';

export { Bell, earlierClock, type WakeUp, type WakeUps } from '@pis/postgres';

export interface RepeatedTask {
  /** Runs one round. @returns the pause until the next one, in ms */
  readonly round: (signal: AbortSignal) => Promise<number>;
  /** Logs why a round failed. @returns the pause until the next one, in ms */
  readonly failed: (error: unknown) => number;
  /** Cuts the pause after a round short. It does not shorten one after a failure. */
  readonly bell?: Bell;
}

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
    while (!signal.aborted) {
      const { rung } = bell;
      try {
        const pauseMs = await round(signal);
        await bell.wait(rung, pauseMs, signal);
      } catch (error) {
        await pause(failed(error), signal);
      }
    }
  }
}
