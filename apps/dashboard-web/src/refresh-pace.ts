/**
 * How often something is read again while changes go on. The first change is followed soon. The next read begins only
 * after the one before has ended and a pause: as long as that read took, and `pauseMs` at least. So a slow server gets
 * fewer requests, and no change can end or put off a read forever.
 */
export interface RefreshPaceOptions {
  /** Must not reject. */
  readonly read: () => Promise<void>;
  /** From the first change to the read. */
  readonly waitMs: number;
  readonly pauseMs: number;
  /** A change so shortly before a read is followed by one more: what it shows comes later than the change itself. */
  readonly settleMs: number;
  /** Milliseconds. Injected by tests, like the timer. */
  readonly clock?: () => number;
  /** @returns cancels it */
  readonly after?: (ms: number, work: () => void) => () => void;
}

const pauseMaxMs = 30_000;

export class RefreshPace {
  private readonly clock: () => number;
  private readonly after: NonNullable<RefreshPaceOptions['after']>;
  private cancelTimer: (() => void) | null = null;
  private isReading = false;
  private isAsked = false;
  private askedAtMs = 0;

  constructor(private readonly options: RefreshPaceOptions) {
    this.clock = options.clock ?? (() => performance.now());
    this.after = options.after ?? afterTimeout;
  }

  /** Something has changed. */
  ask(): void {
    this.isAsked = true;
    this.askedAtMs = this.clock();
    if (this.cancelTimer === null && !this.isReading) this.begin(this.options.waitMs);
  }

  /** Forgets what was asked for. A read that has begun goes on. */
  stop(): void {
    this.isAsked = false;
    this.cancelTimer?.();
    this.cancelTimer = null;
  }

  private begin(ms: number): void {
    this.cancelTimer = this.after(ms, () => void this.round());
  }

  private async round(): Promise<void> {
    this.cancelTimer = null;
    const { read, pauseMs, settleMs } = this.options;
    const beganAtMs = this.clock();
    this.isAsked = beganAtMs - this.askedAtMs < settleMs;
    this.isReading = true;
    await read();
    this.isReading = false;
    const tookMs = this.clock() - beganAtMs;
    if (this.isAsked) this.begin(Math.min(Math.max(pauseMs, tookMs), pauseMaxMs));
  }
}

function afterTimeout(ms: number, work: () => void): () => void {
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
}
