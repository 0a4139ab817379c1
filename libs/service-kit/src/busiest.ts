/**
 * Names for the label of a metric whose values have no limit, such as organizations. The busiest have names of
 * their own and all others share one. So every process has a bounded number of series, however many
 * organizations there are.
 *
 * Who is busy is decided anew in each window, by the counts of the last one. Until the first window has ended,
 * names go to the first who come.
 */
export interface BusiestOptions {
  /** How many have names of their own. */
  readonly namesMax: number;
  /** Keys that are counted in a window. Further ones cannot get a name in the next. */
  readonly countedMax: number;
  readonly windowMs: number;
  readonly nowMs: () => number;
  /** A key lost its name: its series can go. */
  readonly onDropped: (key: string) => void;
}

const otherKeys = 'other';

export class Busiest {
  private readonly named = new Set<string>();
  private counts = new Map<string, number>();
  private windowEndsAtMs: number;

  constructor(private readonly options: BusiestOptions) {
    this.windowEndsAtMs = options.nowMs() + options.windowMs;
  }

  /** Counts one event of the key. @returns the key if it has a name, otherwise `other` */
  nameOf(key: string): string {
    const { nowMs, windowMs, namesMax, countedMax } = this.options;
    const now = nowMs();
    if (now >= this.windowEndsAtMs) {
      this.chooseNames();
      this.windowEndsAtMs = now + windowMs;
    }
    const count = this.counts.get(key);
    if (count !== undefined || this.counts.size < countedMax)
      this.counts.set(key, (count ?? 0) + 1);
    if (this.named.size < namesMax) this.named.add(key);
    return this.named.has(key) ? key : otherKeys;
  }

  /** Between equals, those that have names keep them, so that series last. */
  private chooseNames(): void {
    const { named, counts } = this;
    const busiest = [...counts.keys()]
      .toSorted(
        (a, b) =>
          (counts.get(b) ?? 0) - (counts.get(a) ?? 0) ||
          Number(named.has(b)) - Number(named.has(a)),
      )
      .slice(0, this.options.namesMax);
    const chosen = new Set(busiest);
    for (const key of named)
      if (!chosen.has(key)) {
        named.delete(key);
        this.options.onDropped(key);
      }
    for (const key of busiest) named.add(key);
    this.counts = new Map();
  }
}
