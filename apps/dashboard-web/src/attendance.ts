/** Whether somebody uses the page. A session ends without its user, however often the page reads its data again. */

/** A read so soon after an input counts as the user's: it may be the answer to it. */
export const attendedMs = 60_000;

const inputs = ['pointerdown', 'keydown', 'wheel', 'focus'] as const;

export class Attendance {
  private lastAtMs: number;

  /** @param clock milliseconds; injected by tests */
  constructor(private readonly clock: () => number = () => performance.now()) {
    // Somebody has opened the page.
    this.lastAtMs = clock();
  }

  get isUnattended(): boolean {
    return this.clock() - this.lastAtMs > attendedMs;
  }

  /** Follows what the user does in this window. */
  watch(page: Pick<EventTarget, 'addEventListener'>): void {
    for (const input of inputs)
      page.addEventListener(input, () => this.note(), { capture: true, passive: true });
  }

  private note(): void {
    this.lastAtMs = this.clock();
  }
}
