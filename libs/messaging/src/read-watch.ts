/**
 * Notices a partition that is not read although its group looks alive: heartbeats say that a member runs, not
 * that it reads. Whoever asks passes in where each partition is read and where it ends.
 */
export interface WatchedPartition {
  readonly name: string;
  /** Where it is read next. */
  readonly position: bigint;
  /** Where it ends on the broker; null when the broker does not say. */
  readonly end: bigint | null;
  /** Not read on purpose: its window is full. */
  readonly isPaused: boolean;
}

interface Stuck {
  readonly position: bigint;
  readonly sinceMs: number;
}

export class ReadWatch {
  /** Partitions with unread messages, or without a known end, since they last moved. */
  readonly #stuck = new Map<string, Stuck>();
  /** Where partitions were found unread. They stay here until they are read on. */
  readonly #unread = new Map<string, bigint>();

  constructor(
    private readonly unreadMaxMs: number,
    private readonly nowMs: () => number,
  ) {}

  /** The partitions that were found unread and have not moved since. */
  get unread(): readonly string[] {
    return [...this.#unread.keys()];
  }

  /**
   * To be called at intervals with all partitions of a member; others are forgotten.
   * @returns the partitions with messages that have not been read for `unreadMaxMs`, once per such time
   */
  check(partitions: readonly WatchedPartition[]): readonly string[] {
    const names = new Set(partitions.map(({ name }) => name));
    for (const known of [this.#stuck, this.#unread])
      for (const name of known.keys()) if (!names.has(name)) known.delete(name);
    return partitions.filter((partition) => this.#isNew(partition)).map(({ name }) => name);
  }

  #isNew({ name, position, end, isPaused }: WatchedPartition): boolean {
    const nowMs = this.nowMs();
    const isRead = end !== null && end <= position;
    const foundAt = this.#unread.get(name);
    if (isRead || (foundAt !== undefined && position > foundAt)) this.#unread.delete(name);
    const before = this.#stuck.get(name);
    if (isRead || isPaused) {
      this.#stuck.delete(name);
      return false;
    }
    if (before !== undefined && before.position === position) {
      if (nowMs - before.sinceMs < this.unreadMaxMs) return false;
      this.#unread.set(name, position);
      this.#stuck.set(name, { position, sinceMs: nowMs });
      return end !== null;
    }
    this.#stuck.set(name, { position, sinceMs: nowMs });
    return false;
  }
}
