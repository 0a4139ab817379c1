/**
 * How often a dispatcher looks at the table of deliveries, and what it tells other dispatchers. It looks often while
 * deliveries are under way here, and for a while after it was told that there may be some that it does not know.
 * Otherwise it looks when a delivery is due that it has seen, and seldom: others tell what they leave in the table.
 */
import { Bell, type WakeUp } from '@pis/postgres';

export interface TableWatchOptions {
  readonly limits: {
    /** The longest time until rows of other dispatchers are noticed. */
    readonly pollMaxMs: number;
    /** How long the table is looked at often after the last delivery here, or after others have told of some. */
    readonly busyForMs: number;
    /** Others are told once in this time, at most. Shorter than busyForMs. */
    readonly tellEveryMs: number;
  };
  /** Rung by others. Without it the table is always looked at often, and nobody is told. */
  readonly wakeUp?: WakeUp | undefined;
  /** Rings the bells of all dispatchers. */
  readonly tellOthers: () => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}

export class TableWatch {
  /** Rings when there may be something to do. */
  readonly bell: Bell;
  #busyUntilMs = -Infinity;
  #toldAtMs = -Infinity;
  #telling: NodeJS.Timeout | undefined;

  constructor(private readonly options: TableWatchOptions) {
    this.bell = options.wakeUp?.bell ?? new Bell();
  }

  get #isBusy(): boolean {
    return performance.now() < this.#busyUntilMs;
  }

  /** The longest wait for the bell at this moment, milliseconds. */
  pollMs(): number {
    return this.#isBusy ? this.options.limits.pollMaxMs : this.pollIdleMs();
  }

  /** The longest wait for the bell while nothing is under way, milliseconds. */
  pollIdleMs(): number {
    const { wakeUp, limits } = this.options;
    return Math.max(limits.pollMaxMs, wakeUp?.idleMs() ?? 0);
  }

  /** There are deliveries here, or there may be some that others know. */
  noticed(): void {
    const wasBusy = this.#isBusy;
    this.#busyUntilMs = performance.now() + this.options.limits.busyForMs;
    if (!wasBusy && this.options.wakeUp !== undefined) this.bell.ring();
  }

  /** Others may begin what this process has left, or will leave, in the table: they are told soon. */
  tellOthers(): void {
    if (this.options.wakeUp === undefined) return;
    const inMs = this.#toldAtMs + this.options.limits.tellEveryMs - performance.now();
    this.#telling ??= setTimeout(() => this.#tell(), Math.max(0, inMs)).unref();
  }

  /** Tells now what would have been told later. */
  stop(): void {
    if (this.#telling !== undefined) this.#tell();
  }

  #tell(): void {
    clearTimeout(this.#telling);
    this.#telling = undefined;
    this.#toldAtMs = performance.now();
    this.options.tellOthers().catch(this.options.onFailure);
  }
}
