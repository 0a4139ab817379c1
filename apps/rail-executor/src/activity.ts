/**
 * Whether payments are under way in this process. Its loops look often while there may be something to
 * see, and seldom in an idle system; what others begin is then found a little later.
 */
export class Activity {
  private busyUntilMs = -Infinity;

  constructor(
    /** How long the process counts as busy after the last payment or report. */
    private readonly busyForMs: number,
    /** Says that it has become busy. */
    private readonly onBusy: () => void,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  get isBusy(): boolean {
    return this.nowMs() < this.busyUntilMs;
  }

  /** A payment or a report of the bank is here. */
  noticed(): void {
    const wasBusy = this.isBusy;
    this.busyUntilMs = this.nowMs() + this.busyForMs;
    if (!wasBusy) this.onBusy();
  }
}
