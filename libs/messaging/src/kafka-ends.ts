import {
  kafkaClient,
  type KafkaAdmin,
  type KafkaSettings,
  type PartitionRange,
} from './kafka-client.js';

/** Where partitions begin and end, queried from the broker: no fetch shows what a paused partition gains. */
export class KafkaEnds {
  #admin: KafkaAdmin | null = null;

  constructor(private readonly settings: KafkaSettings) {}

  /** By partition. @throws while the broker is away; the next call connects anew */
  of(topic: string): Promise<ReadonlyMap<number, PartitionRange>> {
    return this.#ask(async (admin) => {
      const ranges = await admin.offsets(topic);
      return new Map(ranges.map((range) => [range.partition, range]));
    });
  }

  /** What the group has committed in the partitions of a topic, by partition. @throws as of() */
  committed(group: string, topic: string): Promise<ReadonlyMap<number, bigint | null>> {
    return this.#ask(async (admin) => {
      const committed = await admin.committed(group, [topic]);
      return new Map(committed.map(({ partition, offset }) => [partition, offset]));
    });
  }

  async close(): Promise<void> {
    const admin = this.#admin;
    this.#admin = null;
    await admin?.close().catch(() => undefined); // It is no longer of use, connected or not.
  }

  async #ask<Answer>(work: (admin: KafkaAdmin) => Promise<Answer>): Promise<Answer> {
    try {
      this.#admin ??= (await kafkaClient(this.settings)).admin();
      return await work(this.#admin);
    } catch (error) {
      await this.close();
      throw error;
    }
  }
}
