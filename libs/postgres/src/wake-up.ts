/** Waits that can be cut short: by a bell, by a time limit, or by an abort signal. */

/**
 * A wake-up that remembers. Read `rung` before you look for work, and pass it to `wait` when there is
 * none: a ring between the two ends the wait at once.
 */
export class Bell {
  #rung = 0;
  #waiting = new Set<() => void>();

  /** How often the bell has rung. */
  get rung(): number {
    return this.#rung;
  }

  ring(): void {
    this.#rung += 1;
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const wake of waiting) wake();
  }

  /** Resolves when the bell has rung since `rung` was read, after `timeoutMs`, or on `signal`. */
  async wait(rung: number, timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (this.#rung !== rung || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, timeoutMs);
      signal.addEventListener('abort', wake);
      this.#waiting.add(wake);
    });
  }
}

/** Resolves after `ms`, or at once when `signal` is aborted. Never rejects. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  await new Promise<void>((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal?.addEventListener('abort', wake);
  });
}

/** Exponential, with jitter, so that clients that lost the same server do not all return at once. */
export function backoffMs(attempt: number, initialMs: number, maxMs: number): number {
  const fullMs = Math.min(maxMs, initialMs * 2 ** Math.min(attempt, 20));
  return fullMs * (0.5 + Math.random() / 2);
}

/** A timer may end this much too early. */
const earlyMaxMs = 5;

/**
 * Milliseconds until the next of the times at which everything in this process that happens at this interval happens. A
 * processor that sleeps is woken once for all of it, and what is queried at the same time can share a statement.
 */
export function untilNextMs(everyMs: number): number {
  const restMs = everyMs - (performance.now() % everyMs);
  return restMs < Math.min(earlyMaxMs, everyMs / 2) ? restMs + everyMs : restMs;
}
