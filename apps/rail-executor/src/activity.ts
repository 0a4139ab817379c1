/**
 * Whether payments are under way in this process. Its loops poll often while there may be work, and rarely
 * in an idle system. An idle process notices the work of other processes a little later.
 */
export class Activity {
  private busyUntilMs = -Infinity;

  constructor(
    /** How long the process counts as busy after the last payment or report. */
    private readonly busyForMs: number,
    /** Called when the process becomes busy. */
    private readonly onBusy: () => void,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  get isBusy(): boolean {
    return this.nowMs() < this.busyUntilMs;
  }

  /** A payment or a notification of the bank has arrived. */
  noticed(): void {
    const wasBusy = this.isBusy;
    this.busyUntilMs = this.nowMs() + this.busyForMs;
    if (!wasBusy) this.onBusy();
  }
}
