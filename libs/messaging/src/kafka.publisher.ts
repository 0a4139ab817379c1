import { Partitioners, type Producer } from 'kafkajs';
import { atMost } from './delay.js';
import { errorText } from './errors.js';
import { errorTypes, kafkaClient, type KafkaSettings } from './kafka-client.js';
import type { Message, MessagePublisher } from './message.js';

/** Publishing failed. What the caller can do about it is the subclass. */
export abstract class ProduceError extends Error {}

/** Wait and publish the same messages again: the outcome is unknown, some may have arrived. */
export class BrokerUnavailable extends ProduceError {
  override readonly name = 'BrokerUnavailable';
}

/** Give up: the broker will never take this batch as it is (a message too large, not a valid record). */
export class MessageRefused extends ProduceError {
  override readonly name = 'MessageRefused';
}

/** A publisher that also says whether it reaches the broker. */
export interface KafkaPublisher extends MessagePublisher {
  /** Resolves when the broker answers. @throws BrokerUnavailable */
  ping(): Promise<void>;
}

/**
 * Publishes to Kafka: idempotent, acknowledged by all in-sync replicas, partitioned by the key (murmur2,
 * as Java's clients do), so that one stream stays in order. `prefix` is prepended to topics.
 *
 * publish() sends in the order given and resolves when all of it is durable.
 * @throws BrokerUnavailable | MessageRefused messages before the failing chunk may have been published
 */
export function kafkaPublisher(
  settings: KafkaSettings,
  { prefix }: { readonly prefix: string },
): KafkaPublisher {
  let producer: Promise<Producer> | null = null;

  const connected = (): Promise<Producer> => {
    producer ??= connect(settings);
    return producer;
  };

  /** After a failure the producer's sequence numbers are in doubt: a fresh one comes next. */
  const discard = async (failed: Promise<Producer>): Promise<void> => {
    if (producer === failed) producer = null;
    // Of a producer given up on, nobody cares how its connections end.
    const ended = failed.then((old) => old.disconnect()).catch(() => undefined);
    await atMost(disconnectMs, ended);
  };

  const send = async (messages: readonly Message[]): Promise<void> => {
    const current = connected();
    try {
      const { sendBatch } = await current;
      await sendBatch({ acks: -1, topicMessages: byTopic(messages, prefix) });
    } catch (error) {
      await discard(current);
      throw produceError(error);
    }
  };

  return {
    async publish(messages) {
      for (const chunk of chunks(messages)) await send(chunk);
    },
    async ping() {
      const admin = kafkaClient(settings).admin();
      try {
        await admin.connect();
        await admin.describeCluster();
      } catch (error) {
        throw new BrokerUnavailable(errorText(error), { cause: error });
      } finally {
        await admin.disconnect();
      }
    },
    async close() {
      if (producer !== null) await discard(producer);
    },
  };
}

async function connect(settings: KafkaSettings): Promise<Producer> {
  const producer = kafkaClient(settings).producer({
    idempotent: true,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    createPartitioner: Partitioners.DefaultPartitioner,
    // A failing send must come back to the caller while it can still answer for it.
    retry: { retries: 5, initialRetryTime: 100, maxRetryTime: 1_000 },
  });
  await producer.connect();
  return producer;
}

const disconnectMs = 1_000;

/** kafkajs makes one record batch of all that goes to a partition; brokers take 1 MiB by default. */
const chunkBytesMax = 900_000;
const chunkMessagesMax = 1_000;

function* chunks(messages: readonly Message[]): Generator<readonly Message[]> {
  let chunk: Message[] = [];
  let bytes = 0;
  for (const message of messages) {
    const size = sizeOf(message);
    if (chunk.length > 0 && (bytes + size > chunkBytesMax || chunk.length >= chunkMessagesMax)) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(message);
    bytes += size;
  }
  if (chunk.length > 0) yield chunk;
}

function sizeOf({ key, value, headers }: Message): number {
  const headerBytes = Object.entries(headers).reduce(
    (sum, [name, text]) => sum + Buffer.byteLength(name) + Buffer.byteLength(text) + 4,
    0,
  );
  return Buffer.byteLength(key) + Buffer.byteLength(value) + headerBytes + 32;
}

function byTopic(messages: readonly Message[], prefix: string) {
  const topics = Map.groupBy(messages, ({ topic }) => prefix + topic);
  return [...topics].map(([topic, those]) => ({
    topic,
    messages: those.map(({ key, value, headers }) => ({ key, value, headers: { ...headers } })),
  }));
}

const refusals = new Set([
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'INVALID_TOPIC_EXCEPTION',
  'INVALID_RECORD',
  'CORRUPT_MESSAGE',
  'INVALID_TIMESTAMP',
]);

function produceError(error: unknown): ProduceError {
  const refused = errorTypes(error).some((type) => refusals.has(type));
  const Failure = refused ? MessageRefused : BrokerUnavailable;
  return new Failure(`publishing: ${errorText(error)}`, { cause: error });
}
