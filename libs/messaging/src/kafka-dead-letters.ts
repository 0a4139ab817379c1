import type { Admin, Consumer, EachBatchPayload } from 'kafkajs';
import { abortableDelay } from './delay.js';
import { errorText } from './errors.js';
import { errorTypes, kafkaClient, textHeaders, type KafkaSettings } from './kafka-client.js';
import { kafkaPublisher } from './kafka.publisher.js';
import type { Delivery, Message, MessagePublisher } from './message.js';
import {
  deadLetterHeaders,
  deadLetterTopicOf,
  replayForGroupHeader,
  waitingSince,
} from './message-headers.js';

/** The message as it is stored in `….dlq`: itself, with its origin and the reason in headers. */
export function asDeadLetter(delivery: Delivery, group: string, error: unknown): Message {
  const { topic, key, value, headers, attempt } = delivery;
  const [partition = '', offset = ''] = delivery.offset.split('/');
  return {
    topic: deadLetterTopicOf(topic),
    key,
    value,
    headers: {
      ...headers,
      [deadLetterHeaders.group]: group,
      [deadLetterHeaders.topic]: topic,
      [deadLetterHeaders.partition]: partition,
      [deadLetterHeaders.offset]: offset,
      [deadLetterHeaders.attempts]: String(attempt),
      [deadLetterHeaders.error]: errorText(error),
    },
  };
}

export interface ReplayOptions {
  readonly prefix: string;
  /** Whose dead letters: only this group handles the replayed messages. */
  readonly group: string;
  /** The original topics, without prefix and `.dlq`. */
  readonly topics: readonly string[];
  readonly timeoutMs?: number;
}

/**
 * Publishes what the group has parked to the original topics again, up to where the dead letters end
 * at the time of the call. Progress is committed in a group of its own after the messages are durable,
 * so that the next call goes on from there; a crash between the two replays some of them twice.
 * @returns how many messages were published again
 * @throws BrokerUnavailable, or an error when timeoutMs is not enough; calling again goes on
 */
export async function replayDeadLetters(
  settings: KafkaSettings,
  { prefix, group, topics, timeoutMs = 60_000 }: ReplayOptions,
): Promise<{ replayed: number }> {
  const client = kafkaClient(settings);
  const groupId = `${prefix}${group}.dead-letter-replay`;
  const admin = client.admin();
  const consumer = client.consumer({
    groupId,
    maxWaitTimeInMs: 100,
    allowAutoTopicCreation: false,
    retry: { restartOnFailure: () => Promise.resolve(false) },
  });
  const publisher = kafkaPublisher(settings, { prefix });
  try {
    await admin.connect();
    const parkedTopics = topics.map((topic) => prefix + deadLetterTopicOf(topic));
    const ends = await endsOf(admin, parkedTopics);
    const deadlineMs = performance.now() + timeoutMs;
    if (await onceCoordinated(() => reached(admin, groupId, ends), deadlineMs))
      return { replayed: 0 };
    return await replayUpTo({ admin, consumer, publisher, groupId, group, ends, timeoutMs });
  } finally {
    await Promise.allSettled([consumer.disconnect(), admin.disconnect(), publisher.close()]);
  }
}

interface Replay {
  readonly admin: Admin;
  readonly consumer: Consumer;
  readonly publisher: MessagePublisher;
  readonly groupId: string;
  readonly group: string;
  readonly ends: Ends;
  readonly timeoutMs: number;
}

async function replayUpTo(replay: Replay): Promise<{ replayed: number }> {
  const { admin, consumer, groupId, ends, timeoutMs } = replay;
  let replayed = 0;
  let failed: unknown = null;
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    failed = payload.error;
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [...ends.keys()], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatch: async (payload) => {
      replayed += await replayBatch(replay, payload);
    },
  });
  const deadlineMs = performance.now() + timeoutMs;
  for (let lastError: unknown = null; ; ) {
    try {
      if (await reached(admin, groupId, ends)) break;
    } catch (error) {
      lastError = error; // The group's coordinator moves sometimes. The deadline decides.
    }
    if (failed !== null) throw failed;
    if (performance.now() > deadlineMs) {
      throw new Error(`replay not finished in ${timeoutMs} ms`, { cause: lastError });
    }
    await abortableDelay(pollMs, new AbortController().signal);
  }
  return { replayed };
}

const pollMs = 100;
/** A broker that has just started, or has taken over groups, loads them first. A busy one needs seconds. */
const notYetCoordinated = [
  'GROUP_LOAD_IN_PROGRESS',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'NOT_COORDINATOR_FOR_GROUP',
];

/** Retries while the group has no coordinator, until the deadline: longer than the client does. */
export async function onceCoordinated<Result>(
  ask: () => Promise<Result>,
  deadlineMs: number,
): Promise<Result> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const isPassing = errorTypes(error).some((type) => notYetCoordinated.includes(type));
      if (!isPassing || performance.now() > deadlineMs) throw error;
    }
    await abortableDelay(pollMs, new AbortController().signal);
  }
}

async function replayBatch(
  { consumer, publisher, group, ends }: Replay,
  { batch }: EachBatchPayload,
): Promise<number> {
  const { topic, partition, messages } = batch;
  const end = ends.get(topic)?.get(partition) ?? 0n;
  // Messages parked after the call began stay for the next one: a message that fails again must not loop.
  const due = messages.filter(({ offset }) => BigInt(offset) < end);
  const again = due.flatMap(({ key, value, headers, timestamp }): Message[] => {
    const parked = textHeaders(headers);
    const original = parked[deadLetterHeaders.topic];
    if (parked[deadLetterHeaders.group] !== group || original === undefined) return [];
    return [
      {
        topic: original,
        key: key?.toString() ?? '',
        value: value?.toString() ?? '',
        headers: {
          ...waitingSince(new Date(Number(timestamp)), withoutDeadLetterHeaders(parked)),
          [replayForGroupHeader]: group,
        },
      },
    ];
  });
  await publisher.publish(again);
  const next = due.length === messages.length ? BigInt(batch.lastOffset()) + 1n : end;
  await consumer.commitOffsets([{ topic, partition, offset: String(next) }]);
  return again.length;
}

function withoutDeadLetterHeaders(headers: Record<string, string>): Record<string, string> {
  const added = new Set<string>(Object.values(deadLetterHeaders));
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !added.has(name)));
}

/** Per topic and partition the offset after the last message; partitions without messages are left out. */
export type Ends = ReadonlyMap<string, ReadonlyMap<number, bigint>>;

export async function endsOf(admin: Admin, topics: readonly string[]): Promise<Ends> {
  const ends = new Map<string, ReadonlyMap<number, bigint>>();
  for (const topic of topics) {
    const offsets = await admin.fetchTopicOffsets(topic);
    const filled = offsets.filter(({ high, low }) => BigInt(high) > BigInt(low));
    if (filled.length > 0) {
      ends.set(topic, new Map(filled.map(({ partition, high }) => [partition, BigInt(high)])));
    }
  }
  return ends;
}

export async function reached(admin: Admin, groupId: string, ends: Ends): Promise<boolean> {
  if (ends.size === 0) return true;
  const committed = await admin.fetchOffsets({ groupId, topics: [...ends.keys()] });
  return committed.every(({ topic, partitions }) =>
    partitions.every(
      ({ partition, offset }) => BigInt(offset) >= (ends.get(topic)?.get(partition) ?? -1n),
    ),
  );
}
