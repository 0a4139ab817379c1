/** A topic that nothing was written to, for messages that are published there once. */
import { applyTopics, type ApplyTopicsOptions, type TopicSpec } from './kafka-admin.js';
import { kafkaClient, type KafkaSettings } from './kafka-client.js';

/** Something was written to the topic before. */
export class TopicNotEmpty extends Error {
  override readonly name = 'TopicNotEmpty';
}

/**
 * Creates the topic. One that exists, with any number of partitions, must be empty: also what Kafka deleted after its
 * retention counts.
 * @returns whether it was created
 * @throws TopicNotEmpty, KafkaFailure
 */
export async function ensureEmptyTopic(
  settings: KafkaSettings,
  options: Pick<ApplyTopicsOptions, 'prefix' | 'replication'>,
  spec: TopicSpec,
): Promise<boolean> {
  const [report] = await applyTopics(settings, options, [spec]);
  if (report?.outcome === 'created') return true;
  const topic = options.prefix + spec.topic;
  const admin = (await kafkaClient(settings)).admin();
  try {
    const ranges = await admin.offsets(topic);
    const written = ranges.reduce((sum, { high }) => sum + high, 0n);
    if (written > 0n) throw new TopicNotEmpty(`${written} messages were written to ${topic}`);
    return false;
  } finally {
    await admin.close();
  }
}
