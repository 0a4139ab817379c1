import { randomUUID } from 'node:crypto';
import { until } from '@pis/local-servers/testing';
import { applyTopics } from '../kafka-admin.js';
import { kafkaClient, textHeaders, type KafkaSettings } from '../kafka-client.js';
import { replayDeadLetters } from '../kafka-dead-letters.js';
import { kafkaPublisher } from '../kafka.publisher.js';
import { KafkaConsumerStrategy } from '../kafka.server.js';
import { deadLetterHeaders, deadLetterTopicOf } from '../message-headers.js';
import { memoryDeferredMessages } from './memory.js';
import type { MessagingHarness } from './stage.js';

/** The Kafka transport on a real broker; topics and groups carry a prefix, as on a shared cluster. */
export async function kafkaHarness(brokers: readonly string[]): Promise<MessagingHarness> {
  const settings: KafkaSettings = { brokers, clientId: 'messaging-spec' };
  const prefix = 'spec.';
  const deferred = memoryDeferredMessages();
  const publisher = kafkaPublisher(settings, { prefix });
  const admin = kafkaClient(settings).admin();
  await admin.connect();
  return {
    deferred,
    async createTopic({ partitions }) {
      const topic = `topic-${randomUUID()}`;
      const retentionMs = 3_600_000;
      await applyTopics(settings, { prefix }, [
        { topic, partitions, retentionMs },
        { topic: deadLetterTopicOf(topic), partitions: 1, retentionMs },
      ]);
      return topic;
    },
    publish: (messages) => publisher.publish(messages),
    createConsumer: (options) =>
      new KafkaConsumerStrategy({
        deferred,
        ...options,
        kafka: settings,
        prefix,
        sessionTimeoutMs: 6_000,
        heartbeatIntervalMs: 100,
      }),
    async committed(group, topic) {
      const [offsets] = await admin.fetchOffsets({
        groupId: prefix + group,
        topics: [prefix + topic],
      });
      const counts = (offsets?.partitions ?? []).map(({ offset }) => Math.max(0, Number(offset)));
      return counts.reduce((sum, count) => sum + count, 0);
    },
    async parked(group, topic) {
      const letters = await readAll(settings, prefix + deadLetterTopicOf(topic));
      return letters
        .filter(({ headers }) => headers[deadLetterHeaders.group] === group)
        .map(({ value, headers }) => ({ value, error: headers[deadLetterHeaders.error] ?? '' }));
    },
    async replay(group, topic) {
      await replayDeadLetters(settings, { prefix, group, topics: [topic], timeoutMs: 20_000 });
    },
    async close() {
      await publisher.close();
      await admin.disconnect();
    },
  };
}

/** All messages of a topic with one partition. */
export async function readAll(
  settings: KafkaSettings,
  topic: string,
): Promise<{ key: string; value: string; headers: Record<string, string> }[]> {
  const client = kafkaClient(settings);
  const admin = client.admin();
  await admin.connect();
  const [end] = await admin.fetchTopicOffsets(topic);
  await admin.disconnect();
  const count = Number(end?.high ?? 0);
  const read: Awaited<ReturnType<typeof readAll>> = [];
  if (count === 0) return read;
  const consumer = client.consumer({ groupId: `read-${randomUUID()}`, maxWaitTimeInMs: 50 });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachMessage: ({ message: { key, value, headers } }) => {
      const text = { key: String(key), value: String(value), headers: textHeaders(headers) };
      read.push(text);
      return Promise.resolve();
    },
  });
  await until(() => read.length >= count, { timeoutMs: 20_000, what: `${count} messages read` });
  await consumer.disconnect();
  return read;
}
