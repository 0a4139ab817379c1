/** Waiting that can be cut short: by a bell, or by a shutdown. */
import { setTimeout as delay } from 'node:timers/promises';

/** Wakes one waiter; a ring while nobody waits is heard by the next one. */
export class WakeUp {
  private isRung = false;
  private wake: () => void = () => undefined;

  ring(): void {
    this.isRung = true;
    this.wake();
  }

  /** Rings until now are forgotten: what they told of is about to be looked at. */
  reset(): void {
    this.isRung = false;
  }

  async wait(limitMs: number): Promise<void> {
    if (this.isRung) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.wake = () => undefined;
  }
}

/** Returns early, without an error, when the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
