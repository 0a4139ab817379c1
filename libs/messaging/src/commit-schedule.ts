/**
 * When to commit: after a number of messages or a time, one commit at a time, and again after a failure.
 * `commit` looks up what to commit when it runs, so a burst of messages costs one commit.
 */
export interface CommitLimits {
  /** After this many messages since the last commit the next one starts at once. Bounds duplicates after a crash. */
  readonly commitCountMax: number;
  readonly commitIntervalMs: number;
}

/** A multiple of the handlers that run at once: what they work on is repeated after a crash anyway. */
export const defaultCommitLimits: CommitLimits = { commitCountMax: 200, commitIntervalMs: 250 };

export class CommitSchedule {
  #pending = 0;
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> | null = null;
  #closed = false;

  constructor(
    private readonly limits: CommitLimits,
    private readonly commit: () => Promise<void>,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** This many more messages are done. */
  advanced(count: number): void {
    if (this.#closed) return;
    this.#pending += count;
    if (this.#pending >= this.limits.commitCountMax && this.#running === null) void this.#start();
    else this.#arm();
  }

  /** Commits now. Failures are reported, not thrown. */
  async flush(): Promise<void> {
    await this.#running;
    if (this.#pending > 0) await this.#start();
  }

  /** Starts no further commit and waits for a running one. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#running;
  }

  #arm(): void {
    if (this.#timer !== null || this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.#pending > 0 && this.#running === null) void this.#start();
    }, this.limits.commitIntervalMs);
  }

  #start(): Promise<void> {
    const count = this.#pending;
    this.#pending = 0;
    const run = this.commit().catch((error: unknown) => {
      this.#pending += count;
      this.onError(error);
    });
    this.#running = run.finally(() => {
      this.#running = null;
      // The timer, not at once: after a failure the other side needs a pause.
      if (this.#pending > 0) this.#arm();
    });
    return this.#running;
  }
}
