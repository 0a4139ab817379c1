import { abortableDelay } from './delay.js';
import { errorText } from './errors.js';
import {
  type FetchedBatch,
  type GroupMember,
  kafkaClient,
  type KafkaAdmin,
  type KafkaClient,
  type KafkaSettings,
} from './kafka-client.js';
import { errorTypes } from './kafka-failure.js';
import { kafkaPublisher, MessageRefused } from './kafka.publisher.js';
import type { Delivery, Message, MessagePublisher } from './message.js';
import {
  deadLetterHeaders,
  deadLetterTopicOf,
  replayForGroupHeader,
  waitingSince,
} from './message-headers.js';

/** The message as it is stored in `….dlq`: itself, with its origin and the reason in headers. */
function asDeadLetter(delivery: Delivery, group: string, error: unknown): Message {
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

/**
 * Parks a message. The headers of a dead letter may make it too large for the broker: then they are parked alone. The message
 * itself stays where they say, until its topic's retention ends.
 * @throws ProduceError
 */
export async function parkInKafka(
  publisher: MessagePublisher,
  group: string,
  delivery: Delivery,
  error: unknown,
): Promise<void> {
  try {
    await publisher.publish([asDeadLetter(delivery, group, error)]);
  } catch (refusal) {
    if (!(refusal instanceof MessageRefused)) throw refusal;
    const { key, value } = delivery;
    const headers = { [deadLetterHeaders.valueBytes]: String(Buffer.byteLength(value)) };
    const small = { ...delivery, key: key.slice(0, keyKeptMax), value: '', headers };
    await publisher.publish([asDeadLetter(small, group, error)]);
  }
}

/** Characters. More than any key of ours has. */
const keyKeptMax = 200;

const membership = {
  sessionTimeoutMs: 30_000,
  rebalanceTimeoutMs: 60_000,
  heartbeatIntervalMs: 3_000,
} as const;

const replayGroupOf = (prefix: string, group: string) => `${prefix}${group}.dead-letter-replay`;
const parkedTopicsOf = (prefix: string, topics: readonly string[]) =>
  topics.map((topic) => prefix + deadLetterTopicOf(topic));

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
 * at the time of the call. What was parked without its value is left out. Progress is committed in a group
 * of its own after the messages are durable, so that the next call goes on from there; a crash between the
 * two replays some of them twice.
 * @returns how many messages were published again
 * @throws BrokerUnavailable, or an error when timeoutMs is not enough; calling again goes on
 */
export async function replayDeadLetters(
  settings: KafkaSettings,
  { prefix, group, topics, timeoutMs = 60_000 }: ReplayOptions,
): Promise<{ replayed: number }> {
  const client = await kafkaClient(settings);
  const groupId = replayGroupOf(prefix, group);
  const admin = client.admin();
  const publisher = kafkaPublisher(settings, { prefix });
  try {
    const ends = await endsOf(admin, parkedTopicsOf(prefix, topics));
    const deadlineMs = performance.now() + timeoutMs;
    if (await onceCoordinated(() => reached(admin, groupId, ends), deadlineMs))
      return { replayed: 0 };
    return await replayUpTo({ client, admin, publisher, groupId, group, ends, timeoutMs });
  } finally {
    await Promise.allSettled([admin.close(), publisher.close()]);
  }
}

export interface Replay {
  readonly client: KafkaClient;
  readonly admin: KafkaAdmin;
  readonly publisher: MessagePublisher;
  readonly groupId: string;
  readonly group: string;
  readonly ends: Ends;
  readonly timeoutMs: number;
}

/** Joins the group and reads until it has reached the ends. */
export async function replayUpTo(replay: Replay): Promise<{ replayed: number }> {
  const { client, admin, groupId, ends, timeoutMs } = replay;
  let replayed = 0;
  const failed = Promise.withResolvers<never>();
  const ended = new AbortController();
  // One batch after the other; a partition is read on once its batch is done.
  let queue: Promise<void> = Promise.resolve();
  const member: GroupMember = client.member(
    { ...membership, group: groupId, topics: [...ends.keys()] },
    {
      alive: () => undefined,
      joined: () => undefined,
      rebalancing: () => Promise.resolve(),
      fetched: (batch) => {
        queue = queue.then(async () => {
          if (!ended.signal.aborted) replayed += await replayBatch(replay, member, batch);
        });
        queue.catch(failed.reject);
        return { room: queue.catch(() => undefined) };
      },
    },
  );
  try {
    const work = member
      .start()
      .then(() => untilReached(admin, groupId, ends, timeoutMs, ended.signal));
    await Promise.race([work, member.broken, failed.promise]);
    // The group is there already, but the answer to the last commit may still be on its way.
    await queue;
    return { replayed };
  } finally {
    ended.abort();
    await member.stop().catch(() => undefined); // All that counts is committed.
  }
}

async function untilReached(
  admin: KafkaAdmin,
  groupId: string,
  ends: Ends,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  for (let lastError: unknown = null; !signal.aborted; ) {
    try {
      if (await reached(admin, groupId, ends)) return;
    } catch (error) {
      lastError = error; // The group's coordinator moves sometimes. The deadline decides.
    }
    if (performance.now() > deadlineMs)
      throw new Error(`replay not finished in ${timeoutMs} ms`, { cause: lastError });
    await abortableDelay(pollMs, signal);
  }
}

const pollMs = 100;
/** A broker that has just started, or has taken over groups, loads them first. A busy one needs seconds. */
const notYetCoordinated = [
  // The names of kafkajs, and those of today.
  'GROUP_LOAD_IN_PROGRESS',
  'COORDINATOR_LOAD_IN_PROGRESS',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'COORDINATOR_NOT_AVAILABLE',
  'NOT_COORDINATOR_FOR_GROUP',
  'NOT_COORDINATOR',
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
  { publisher, group, ends }: Replay,
  member: GroupMember,
  { topic, partition, messages, next: afterBatch }: FetchedBatch,
): Promise<number> {
  const end = ends.get(topic)?.get(partition) ?? 0n;
  // Messages parked after the call began stay for the next one: a message that fails again must not loop.
  const due = messages.filter(({ offset }) => offset < end);
  const again = due.flatMap(({ key, value, headers: parked, timestamp }): Message[] => {
    const original = parked[deadLetterHeaders.topic];
    if (parked[deadLetterHeaders.group] !== group || original === undefined) return [];
    if (parked[deadLetterHeaders.valueBytes] !== undefined) return [];
    return [
      {
        topic: original,
        key,
        value,
        headers: {
          ...waitingSince(new Date(timestamp), withoutDeadLetterHeaders(parked)),
          [replayForGroupHeader]: group,
        },
      },
    ];
  });
  await publisher.publish(again);
  const next = due.length === messages.length ? afterBatch : end;
  await member.commit([{ topic, partition, offset: String(next) }]);
  return again.length;
}

function withoutDeadLetterHeaders(headers: Record<string, string>): Record<string, string> {
  const added = new Set<string>(Object.values(deadLetterHeaders));
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !added.has(name)));
}

/** A parked message without its value, which holds personal data. */
export interface DeadLetter {
  /** Where it comes from, without prefix. */
  readonly topic: string;
  readonly key: string;
  /** Partition and offset in its topic; on the embedded broker the position in the log. */
  readonly offset: string;
  readonly attempts: number;
  readonly error: string;
  /** ISO 8601. */
  readonly parkedAt: string;
}

/**
 * What the group has parked and nobody has replayed, in the order of each partition. Reads as a member of the group of the replay, whose
 * rights it needs, and commits nothing.
 * @throws BrokerUnavailable, or an error when timeoutMs is not enough
 */
export async function kafkaDeadLetters(
  settings: KafkaSettings,
  { prefix, group, topics, timeoutMs = 60_000 }: ReplayOptions,
): Promise<readonly DeadLetter[]> {
  const client = await kafkaClient(settings);
  const groupId = replayGroupOf(prefix, group);
  const admin = client.admin();
  try {
    const ends = await endsOf(admin, parkedTopicsOf(prefix, topics));
    const deadlineMs = performance.now() + timeoutMs;
    const unread = await onceCoordinated(() => unreadOf(admin, groupId, ends), deadlineMs);
    return unread.size === 0
      ? []
      : await readTo({ client, groupId, group, ends, timeoutMs }, unread);
  } finally {
    await admin.close().catch(() => undefined); // It has said all that counts.
  }
}

const partitionName = (topic: string, partition: number) => `${topic}/${partition}`;

/** The partitions that the group has not committed up to their ends. */
async function unreadOf(admin: KafkaAdmin, groupId: string, ends: Ends): Promise<Set<string>> {
  const unread = new Set<string>();
  if (ends.size === 0) return unread;
  for (const { topic, partition, offset } of await admin.committed(groupId, [...ends.keys()]))
    if ((offset ?? -1n) < (ends.get(topic)?.get(partition) ?? -1n))
      unread.add(partitionName(topic, partition));
  return unread;
}

async function readTo(
  {
    client,
    groupId,
    group,
    ends,
    timeoutMs,
  }: Pick<Replay, 'client' | 'groupId' | 'group' | 'ends' | 'timeoutMs'>,
  unread: Set<string>,
): Promise<readonly DeadLetter[]> {
  // By place: after a rebalance some come again.
  const found = new Map<string, DeadLetter>();
  const done = Promise.withResolvers<void>();
  const member = client.member(
    { ...membership, group: groupId, topics: [...ends.keys()] },
    {
      alive: () => undefined,
      joined: () => undefined,
      rebalancing: () => Promise.resolve(),
      fetched: ({ topic, partition, messages, next }) => {
        const name = partitionName(topic, partition);
        const end = ends.get(topic)?.get(partition) ?? 0n;
        for (const message of messages)
          if (message.offset < end && message.headers[deadLetterHeaders.group] === group)
            found.set(`${name}/${message.offset}`, letterOf(message));
        if (next >= end) unread.delete(name);
        if (unread.size === 0) done.resolve();
        return { room: null };
      },
    },
  );
  const waiting = new AbortController();
  const tooLong = abortableDelay(timeoutMs, waiting.signal).then(() => {
    if (!waiting.signal.aborted)
      throw new Error(`dead letters not read in ${timeoutMs} ms: a replay may be running`);
  });
  try {
    await Promise.race([member.start().then(() => done.promise), member.broken, tooLong]);
    return [...found.values()];
  } finally {
    waiting.abort();
    await member.stop().catch(() => undefined); // It has nothing to commit.
  }
}

function letterOf({ key, headers, timestamp }: FetchedBatch['messages'][number]): DeadLetter {
  const header = (name: keyof typeof deadLetterHeaders) => headers[deadLetterHeaders[name]] ?? '';
  return {
    topic: header('topic'),
    key,
    offset: `${header('partition')}/${header('offset')}`,
    attempts: Number(header('attempts')),
    error: header('error'),
    parkedAt: new Date(timestamp).toISOString(),
  };
}

/** Per topic and partition the offset after the last message; partitions without messages are left out. */
export type Ends = ReadonlyMap<string, ReadonlyMap<number, bigint>>;

export async function endsOf(admin: KafkaAdmin, topics: readonly string[]): Promise<Ends> {
  const ends = new Map<string, ReadonlyMap<number, bigint>>();
  for (const topic of topics) {
    const filled = (await admin.offsets(topic)).filter(({ high, low }) => high > low);
    if (filled.length > 0)
      ends.set(topic, new Map(filled.map(({ partition, high }) => [partition, high])));
  }
  return ends;
}

export async function reached(admin: KafkaAdmin, groupId: string, ends: Ends): Promise<boolean> {
  if (ends.size === 0) return true;
  const committed = await admin.committed(groupId, [...ends.keys()]);
  return committed.every(
    ({ topic, partition, offset }) => (offset ?? -1n) >= (ends.get(topic)?.get(partition) ?? -1n),
  );
}
