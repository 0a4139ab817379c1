import { randomUUID } from 'node:crypto';
import { until } from '@pis/local-servers/testing';
import { applyTopics } from '../kafka-admin.js';
import { kafkaClient, type KafkaSettings } from '../kafka-client.js';
import { replayDeadLetters } from '../kafka-dead-letters.js';
import { kafkaPublisher } from '../kafka.publisher.js';
import { KafkaConsumerStrategy } from '../kafka.server.js';
import { deadLetterHeaders, deadLetterTopicOf } from '../message-headers.js';
import { memoryDeferredMessages } from './memory.js';
import type { MessagingHarness } from './stage.js';

/** A broker that allows no shorter sessions is given this one. */
const sessionDefaultMs = 6_000;

export interface KafkaHarnessOptions extends Pick<KafkaSettings, 'client' | 'requestTimeoutMs'> {
  readonly sessionTimeoutMs?: number;
}

/** The Kafka transport on a real broker; topics and groups carry a prefix, as on a shared cluster. */
export async function kafkaHarness(
  brokers: readonly string[],
  { sessionTimeoutMs = sessionDefaultMs, ...more }: KafkaHarnessOptions = {},
): Promise<MessagingHarness> {
  const settings: KafkaSettings = { brokers, clientId: 'messaging-spec', ...more };
  const prefix = 'spec.';
  const deferred = memoryDeferredMessages();
  const publisher = kafkaPublisher(settings, { prefix });
  const admin = (await kafkaClient(settings)).admin();
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
        sessionTimeoutMs,
        heartbeatIntervalMs: 100,
      }),
    async committed(group, topic) {
      const committed = await admin.committed(prefix + group, [prefix + topic]);
      return committed.reduce((sum, { offset }) => sum + Number(offset ?? 0n), 0);
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
      await admin.close();
    },
  };
}

/** All messages of a topic with one partition. */
export async function readAll(
  settings: KafkaSettings,
  topic: string,
): Promise<{ key: string; value: string; headers: Record<string, string> }[]> {
  const client = await kafkaClient(settings);
  const admin = client.admin();
  const [end] = await admin.offsets(topic);
  await admin.close();
  const count = Number(end?.high ?? 0n);
  const read: Awaited<ReturnType<typeof readAll>> = [];
  if (count === 0) return read;
  const reader = client.member(
    {
      group: `read-${randomUUID()}`,
      topics: [topic],
      sessionTimeoutMs: 30_000,
      rebalanceTimeoutMs: 60_000,
      heartbeatIntervalMs: 3_000,
    },
    {
      alive: () => undefined,
      joined: () => undefined,
      rebalancing: () => Promise.resolve(),
      fetched: ({ messages }) => {
        read.push(
          ...messages.map(({ key, value, headers }) => ({ key, value, headers: { ...headers } })),
        );
        return { room: null };
      },
    },
  );
  try {
    await reader.start();
    await until(() => read.length >= count, { timeoutMs: 20_000, what: `${count} messages read` });
  } finally {
    await reader.stop();
  }
  return read;
}
