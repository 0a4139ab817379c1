import { atMost } from './delay.js';
import { errorText } from './errors.js';
import { kafkaClient, type KafkaProducer, type KafkaSettings } from './kafka-client.js';
import { errorTypes } from './kafka-failure.js';
import type { Message, MessagePage, MessagePublisher } from './message.js';

/** Publishing failed. The subclass tells the caller what to do. */
export abstract class ProduceError extends Error {}

/** Wait and publish the same messages again: the outcome is unknown, some may have arrived. */
export class BrokerUnavailable extends ProduceError {
  override readonly name = 'BrokerUnavailable';
  readonly isUnavailable = true;
}

/**
 * The broker refuses one message: it is too large, or not a valid record for its topic. All messages before
 * it are published, and none of its key after it.
 */
export class MessageRefused extends ProduceError {
  override readonly name = 'MessageRefused';
  constructor(
    readonly refused: Message,
    cause: unknown,
  ) {
    super(errorText(cause), { cause });
  }
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
 * @throws BrokerUnavailable | MessageRefused
 */
export function kafkaPublisher(
  settings: KafkaSettings,
  { prefix }: { readonly prefix: string },
): KafkaPublisher {
  let producer: Promise<KafkaProducer> | null = null;

  const connected = (): Promise<KafkaProducer> => {
    producer ??= connect(settings);
    return producer;
  };

  /** After a failure the producer's sequence numbers are in doubt: a fresh one comes next. */
  const discard = async (failed: Promise<KafkaProducer>): Promise<void> => {
    if (producer === failed) producer = null;
    // The producer is abandoned, so errors of its connections do not matter.
    const ended = failed.then((old) => old.close()).catch(() => undefined);
    await atMost(disconnectMs, ended);
  };

  const send = async (messages: readonly Message[]): Promise<void> => {
    const current = connected();
    try {
      const { send: sendAll } = await current;
      await sendAll(messages.map((message) => ({ ...message, topic: prefix + message.topic })));
    } catch (error) {
      await discard(current);
      if (!isRefusal(error))
        throw new BrokerUnavailable(`publishing: ${errorText(error)}`, { cause: error });
      await narrow(messages, error);
    }
  };

  /**
   * The broker does not name the message, so halves are sent until one message is left. The part of the
   * refused batch that it accepted, in other partitions, is sent again: publishing is at least once anyway.
   */
  const narrow = async (messages: readonly Message[], cause: unknown): Promise<void> => {
    const [first] = messages;
    if (first === undefined) return;
    if (messages.length === 1) throw new MessageRefused(first, cause);
    const middle = Math.ceil(messages.length / 2);
    await send(messages.slice(0, middle));
    await send(messages.slice(middle));
  };

  return {
    async publish(messages) {
      for (const chunk of chunks(messages)) await send(chunk);
    },
    async ping() {
      const admin = (await kafkaClient(settings)).admin();
      try {
        await admin.ping();
      } catch (error) {
        throw new BrokerUnavailable(errorText(error), { cause: error });
      } finally {
        await admin.close();
      }
    },
    async close() {
      if (producer !== null) await discard(producer);
    },
  };
}

async function connect(settings: KafkaSettings): Promise<KafkaProducer> {
  return (await kafkaClient(settings)).producer();
}

const disconnectMs = 1_000;

/** The messages of a partition become one record batch. Brokers accept 1 MiB by default. */
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

/** Errors about one message. Others concern all messages, like a topic's name, or are temporary. */
const refusals = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_RECORD']);

function isRefusal(error: unknown): boolean {
  return errorTypes(error).some((type) => refusals.has(type));
}

/**
 * Publishes a page. A message that the broker refuses for good holds back its own stream and no other.
 * @returns what the broker took
 * @throws ProduceError
 */
export async function publishPage(
  publish: MessagePublisher['publish'],
  page: MessagePage,
): Promise<MessagePage['messages']> {
  let left = page.messages;
  let taken: MessagePage['messages'] = [];
  while (left.length > 0) {
    try {
      await publish(left);
      return [...taken, ...left];
    } catch (error) {
      if (!(error instanceof MessageRefused)) throw error;
      const index = left.findIndex((message) => message === error.refused);
      const refused = left[index];
      if (refused === undefined || page.holdBack === undefined) throw error;
      const verdict = await page.holdBack(refused, `Kafka refused it: ${error.message}`);
      taken = [...taken, ...left.slice(0, index)];
      const after = left.slice(index + 1);
      left = verdict === 'skipped' ? after : after.filter(({ key }) => key !== refused.key);
    }
  }
  return taken;
}
