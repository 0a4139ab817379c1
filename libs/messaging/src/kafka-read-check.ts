/** Asks the brokers at intervals whether a member reads what it was given (read-watch.ts). */
import { abortableDelay } from './delay.js';
import { KafkaEnds } from './kafka-ends.js';
import type { KafkaSettings, TopicPartition } from './kafka-client.js';
import { ReadWatch, type WatchedPartition } from './read-watch.js';

export interface ReadPartition extends TopicPartition {
  /** Null before the first message of it was taken. */
  readonly next: bigint | null;
  readonly isPaused: boolean;
}

export interface ReadCheckOptions {
  readonly kafka: KafkaSettings;
  /** With the prefix. */
  readonly group: string;
  readonly unreadMaxMs: number;
  readonly partitions: () => readonly ReadPartition[];
  readonly problem: (error: unknown) => void;
}

export class KafkaReadCheck {
  readonly #ends: KafkaEnds;
  readonly #watch: ReadWatch;

  constructor(private readonly options: ReadCheckOptions) {
    this.#ends = new KafkaEnds(options.kafka);
    this.#watch = new ReadWatch(options.unreadMaxMs, () => performance.now());
  }

  /** What is not read, for people; null when all is. */
  get complaint(): string | null {
    const { unread } = this.#watch;
    return unread.length === 0
      ? null
      : `not read although the group is alive: ${unread.join(', ')}`;
  }

  /** Checks until the signal aborts. @throws when a partition has messages that are not read */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await abortableDelay(this.options.unreadMaxMs / checksPerLimit, signal);
      if (signal.aborted) return;
      const partitions = await this.#watched();
      if (signal.aborted) return;
      const unread = this.#watch.check(partitions);
      if (unread.length > 0) throw new PartitionUnread(unread);
    }
  }

  close(): Promise<void> {
    return this.#ends.close();
  }

  async #watched(): Promise<readonly WatchedPartition[]> {
    const byTopic = Map.groupBy(this.options.partitions(), ({ topic }) => topic);
    const watched: WatchedPartition[] = [];
    for (const [topic, partitions] of byTopic) {
      const known = await this.#known(topic, partitions);
      for (const { partition, next, isPaused } of partitions) {
        const range = known?.ranges.get(partition);
        const begin = known?.committed.get(partition) ?? range?.low ?? 0n;
        watched.push({
          name: `${topic}/${partition}`,
          position: next ?? begin,
          end: range?.high ?? null,
          isPaused,
        });
      }
    }
    return watched;
  }

  /** Null when a broker does not answer. */
  async #known(topic: string, partitions: readonly ReadPartition[]) {
    try {
      const isNew = partitions.some(({ next }) => next === null);
      const ranges = await this.#ends.of(topic);
      const committed = isNew
        ? await this.#ends.committed(this.options.group, topic)
        : new Map<number, bigint | null>();
      return { ranges, committed };
    } catch (error) {
      this.options.problem(error);
      return null;
    }
  }
}

/** The member is replaced: it lives, and does not read. */
export class PartitionUnread extends Error {
  override readonly name = 'PartitionUnread';

  constructor(partitions: readonly string[]) {
    super(`not read although the group is alive: ${partitions.join(', ')}`);
  }
}

const checksPerLimit = 3;
