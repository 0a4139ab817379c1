/**
 * Notices messages that Kafka has deleted before the group has read them: where the group goes on lies before the first
 * message that is left. The client libraries go on at that message without a word.
 */
import { KafkaEnds } from './kafka-ends.js';
import type { KafkaSettings, TopicPartition } from './kafka-client.js';

/** Messages of a partition that were not read and are gone. */
export interface LostMessages extends TopicPartition {
  /** The offset of the first of them. */
  readonly from: string;
  /** The offset of the first message that is left. */
  readonly to: string;
  readonly count: number;
}

export interface KafkaLossesOptions {
  readonly kafka: KafkaSettings;
  /** With the prefix. */
  readonly group: string;
  readonly onLost: (lost: LostMessages) => void;
}

export class KafkaLosses {
  readonly #ends: KafkaEnds;
  /** Up to which offset each partition's losses were reported. */
  readonly #reported = new Map<string, bigint>();

  constructor(private readonly options: KafkaLossesOptions) {
    this.#ends = new KafkaEnds(options.kafka);
  }

  /**
   * Looks at all partitions of these topics. To be called before the group is joined, too: kafkajs commits where it goes on.
   * @throws while the broker is away
   */
  async check(topics: readonly string[]): Promise<void> {
    for (const topic of topics)
      await this.#compare(topic, await this.#ends.committed(this.options.group, topic));
  }

  /** Looks at a partition of which the next message was not the expected one. @throws as check() */
  gap({ topic, partition }: TopicPartition, expected: bigint): Promise<void> {
    return this.#compare(topic, new Map([[partition, expected]]));
  }

  close(): Promise<void> {
    return this.#ends.close();
  }

  async #compare(topic: string, positions: ReadonlyMap<number, bigint | null>): Promise<void> {
    const ranges = await this.#ends.of(topic);
    for (const [partition, position] of positions) {
      const low = ranges.get(partition)?.low;
      // A group that is new has committed nothing, and reads what is there.
      if (low === undefined || position === null || position >= low) continue;
      const name = `${topic}/${partition}`;
      if (position < (this.#reported.get(name) ?? 0n)) continue;
      this.#reported.set(name, low);
      const offsets = { from: String(position), to: String(low) };
      this.options.onLost({ topic, partition, ...offsets, count: Number(low - position) });
    }
  }
}
