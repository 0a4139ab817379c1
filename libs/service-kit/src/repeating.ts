/** Repeats a task, round after round, until it is stopped. Rounds never overlap. */
import { pause } from '@pis/postgres';

export interface RepeatedTask {
  /** Runs one round. @returns the pause until the next one, in ms */
  readonly round: (signal: AbortSignal) => Promise<number>;
  /** Logs why a round failed. @returns the pause until the next one, in ms */
  readonly failed: (error: unknown) => number;
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
    const { round, failed } = this.task;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const pauseMs = await round(signal).catch(failed);
      await pause(pauseMs, signal);
    }
  }
}
