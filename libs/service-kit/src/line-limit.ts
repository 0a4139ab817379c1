/** Allows some lines at once and then one for each interval. The next line has the number of withheld ones. */
export class LineLimit {
  #withheld = 0;
  #free: number;
  #sinceMs: number;

  constructor(
    private readonly atOnce: number,
    private readonly everyMs: number,
    private readonly nowMs: () => number,
  ) {
    this.#free = atOnce;
    this.#sinceMs = nowMs();
  }

  log(write: (withheld: { readonly withheld?: number }) => void): void {
    const nowMs = this.nowMs();
    this.#free = Math.min(this.atOnce, this.#free + (nowMs - this.#sinceMs) / this.everyMs);
    this.#sinceMs = nowMs;
    if (this.#free < 1) {
      this.#withheld += 1;
      return;
    }
    this.#free -= 1;
    const withheld = this.#withheld;
    this.#withheld = 0;
    write(withheld === 0 ? {} : { withheld });
  }
}
