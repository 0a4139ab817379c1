import type { Admin } from 'kafkajs';
import { kafkaClient, type KafkaSettings } from './kafka-client.js';

/** The end of each partition, queried from the broker: no fetch shows what a paused partition gains. */
export class KafkaEnds {
  #admin: Admin | null = null;

  constructor(private readonly settings: KafkaSettings) {}

  /** The offset after the last message of each partition. @throws while the broker is away; the next call connects anew */
  async of(topic: string): Promise<ReadonlyMap<number, bigint>> {
    try {
      if (this.#admin === null) {
        this.#admin = kafkaClient(this.settings).admin();
        await this.#admin.connect();
      }
      const offsets = await this.#admin.fetchTopicOffsets(topic);
      return new Map(offsets.map(({ partition, high }) => [partition, BigInt(high)]));
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const admin = this.#admin;
    this.#admin = null;
    await admin?.disconnect().catch(() => undefined); // It is no longer of use, connected or not.
  }
}
