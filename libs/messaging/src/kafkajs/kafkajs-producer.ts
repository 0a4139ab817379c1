/**
 * KafkaProducer on kafkajs. When a send fails on one broker and kafkajs tries again, it leaves out every broker that
 * has answered, also if that broker leads the partitions of the failed one by then. Their messages are never sent, and
 * kafkajs reports success. So every partition that got messages must be among its answers.
 */
// The default import: Node cannot see the names of all values among the exports of the CommonJS package.
import kafkajs, { type Kafka, type Message, type RecordMetadata } from 'kafkajs';
import { atMost } from '../delay.js';
import { asFailure, KafkaFailure } from '../kafka-failure.js';
import { kafkaLimits, type KafkaProducer, type OutgoingMessage } from '../kafka-port.js';

export async function openProducer(kafka: Kafka): Promise<KafkaProducer> {
  /** Where kafkajs puts a message. */
  const placed = new WeakMap<Message, number>();
  const producer = kafka.producer({
    idempotent: true,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    createPartitioner: () => {
      const place = kafkajs.Partitioners.DefaultPartitioner();
      return (input) => {
        const partition = place(input);
        placed.set(input.message, partition);
        return partition;
      };
    },
    // The fewest that it allows: it asks a broker that does not answer again. The caller does better, with a new
    // producer that learns who leads the partitions now.
    retry: { retries: 1, initialRetryTime: 100, maxRetryTime: 1_000 },
  });
  try {
    await producer.connect();
  } catch (error) {
    // It may be connected without an ID, and the caller tries again with another one.
    await atMost(
      kafkaLimits.disconnectMs,
      producer.disconnect().catch(() => undefined),
    );
    throw error;
  }
  return {
    async send(messages) {
      await asFailure(async () => {
        const topicMessages = byTopic(messages);
        const answers = await producer.sendBatch({ acks: -1, topicMessages });
        const answered = new Set(answers.map(placeOf));
        for (const { topic, messages: those } of topicMessages)
          for (const message of those) {
            const place = `${topic}/${placed.get(message)}`;
            if (!answered.has(place)) throw new KafkaFailure(`${place} got no messages`, []);
          }
      });
    },
    close: () => asFailure(() => producer.disconnect()),
  };
}

function placeOf({ topicName, partition }: RecordMetadata): string {
  return `${topicName}/${partition}`;
}

function byTopic(messages: readonly OutgoingMessage[]) {
  const topics = Map.groupBy(messages, ({ topic }) => topic);
  return [...topics].map(([topic, those]) => ({
    topic,
    messages: those.map(({ key, value, headers }) => ({ key, value, headers: { ...headers } })),
  }));
}
