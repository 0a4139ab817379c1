import type { Consumer, EachBatchPayload, KafkaMessage } from 'kafkajs';
import { CommitSchedule } from './commit-schedule.js';
import { ConsumerStrategy, type ConsumerOptions, type ConsumerStatus } from './consumer.server.js';
import { aborted, abortableDelay, atMost } from './delay.js';
import { errorText } from './errors.js';
import { errorTypes, kafkaClient, textHeaders, type KafkaSettings } from './kafka-client.js';
import { asDeadLetter } from './kafka-dead-letters.js';
import { KafkaEnds } from './kafka-ends.js';
import { kafkaPublisher } from './kafka.publisher.js';
import type { Partition } from './partition.js';
import type { ConsumerEngine } from './engine.js';

export interface KafkaConsumerOptions extends ConsumerOptions {
  readonly kafka: KafkaSettings;
  /** Prepended to topics and consumer groups. */
  readonly prefix: string;
  /** A consumer that is silent for this time loses its partitions to the others. */
  readonly sessionTimeoutMs?: number;
  readonly heartbeatIntervalMs?: number;
}

/**
 * The Kafka consumer. kafkajs fetches and keeps the membership. The key queues handle the messages. A batch
 * is handed over and not waited for, so fetching and heartbeats continue however long a handler takes. A
 * partition with a full window is paused. Handlers of a partition that was taken away run to their end, and
 * their results do not count. Its new owner may begin the same message meanwhile, so handlers are
 * idempotent.
 *
 * What always holds: only the contiguous prefix of a partition is committed, and only while the
 * partition is ours. A rejoin makes kafkajs fetch again from the last commit; what this process still
 * holds of a partition that it kept is recognized by its offset and not handled twice.
 */
export class KafkaConsumerStrategy extends ConsumerStrategy {
  readonly #options: KafkaConsumerOptions;
  readonly #engine: ConsumerEngine;
  readonly #commits: CommitSchedule;
  readonly #deadLetters: ReturnType<typeof kafkaPublisher>;
  readonly #ends: KafkaEnds;
  readonly #ending = new AbortController();
  readonly #partitions = new Map<string, Assignment>();
  #assignment: Readonly<Record<string, readonly number[]>> = {};
  #memberId: string | null = null;
  #consumer: Consumer | null = null;
  #draining = false;
  #loop: Promise<void> = Promise.resolve();
  #connected = false;
  #error: string | null = 'not started';

  constructor(options: KafkaConsumerOptions) {
    super(options);
    this.#options = options;
    this.#deadLetters = kafkaPublisher(options.kafka, options);
    this.#ends = new KafkaEnds(options.kafka);
    this.#engine = this.createEngine((delivery, error) =>
      this.#deadLetters.publish([asDeadLetter(delivery, this.group, error)]),
    );
    this.#commits = new CommitSchedule(
      this.commitLimits,
      () => this.#commit(),
      (error) => this.observe.problem?.('committing offsets', error),
    );
  }

  get consumerStatus(): ConsumerStatus {
    const ages = [...this.#partitions.values()].map(({ work }) => work.oldestUnfinishedMs);
    const oldestUnfinishedMs = Math.max(0, ...ages);
    const lag = this.#lag();
    return { connected: this.#connected, lag, oldestUnfinishedMs, error: this.#error };
  }

  protected override start(): void {
    this.#loop = this.#supervise();
    this.#engine.start(() => this.#measure());
  }

  override async close(): Promise<void> {
    this.#draining = true;
    if (!(await this.#engine.stop(this.drainMs))) {
      this.observe.problem?.('draining', new Error(`handlers still run after ${this.drainMs} ms`));
    }
    await atMost(lastCommitMs, this.#commits.flush());
    await this.abandon();
  }

  override async abandon(): Promise<void> {
    this.#draining = true;
    this.#engine.abandon();
    this.#dropAll();
    const committed = this.#commits.close();
    this.#ending.abort();
    // In parallel: a broker that hangs costs each of them its whole limit.
    await Promise.all([
      this.#loop,
      atMost(lastCommitMs, committed),
      atMost(disconnectMs, this.#deadLetters.close()),
      atMost(disconnectMs, this.#ends.close()),
    ]);
  }

  /** The kafkajs Consumer, null while it is not connected. */
  override unwrap<T>(): T {
    return this.#consumer as T;
  }

  /** Runs one kafkajs consumer after the other: a crashed one is replaced, with backoff. */
  async #supervise(): Promise<void> {
    const { signal } = this.#ending;
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        await this.#session();
      } catch (error) {
        if (this.#connected) failures = 0;
        this.#connected = false;
        this.#error = errorText(error);
        this.observe.problem?.('consuming', error);
        this.#dropAll();
        const ms = Math.min(restartInitialMs * 2 ** Math.min(failures, 30), restartMaxMs);
        await abortableDelay(ms, signal);
      }
    }
    this.#connected = false;
  }

  /** The life of one kafkajs consumer. Returns at the end of the strategy. @throws why it ended earlier */
  async #session(): Promise<void> {
    const { kafka, prefix, group } = this.#options;
    const { sessionTimeoutMs = sessionMs, heartbeatIntervalMs = heartbeatMs } = this.#options;
    const consumer = kafkaClient(kafka).consumer({
      groupId: prefix + group,
      sessionTimeout: sessionTimeoutMs,
      heartbeatInterval: heartbeatIntervalMs,
      rebalanceTimeout: rebalanceTimeoutMs,
      maxBytesPerPartition: partitionBytesMax,
      // How soon a resumed partition is fetched again, at the latest.
      maxWaitTimeInMs: fetchWaitMs,
      allowAutoTopicCreation: false,
      // Its own restart leaves a dead consumer after an unknown error, so we replace it instead.
      retry: { retries: 3, restartOnFailure: () => Promise.resolve(false) },
    });
    const session = new AbortController();
    const broken = this.#watch(consumer, sessionTimeoutMs + rebalanceTimeoutMs, session.signal);
    const started = this.#begin(consumer, session.signal);
    const ended = aborted(this.#ending.signal);
    try {
      await Promise.race([started.then(() => ended), broken, ended]);
    } finally {
      session.abort();
      this.#consumer = null;
      this.#memberId = null;
      // kafkajs cannot stop a consumer that is still joining; it would come to life afterwards.
      await atMost(
        disconnectMs,
        started.catch(() => undefined),
      );
      const disconnected = consumer.disconnect().catch((error: unknown) => {
        this.observe.problem?.('disconnecting', error);
      });
      await atMost(disconnectMs, disconnected);
    }
  }

  /** Connects, joins and starts fetching, unless the session ends meanwhile. */
  async #begin(consumer: Consumer, signal: AbortSignal): Promise<void> {
    const topics = this.topics.map((topic) => this.#options.prefix + topic);
    await consumer.connect();
    if (signal.aborted) return;
    await consumer.subscribe({ topics, fromBeginning: true }).catch((cause: unknown) => {
      throw new Error(`subscribing to ${topics.join(', ')}: ${errorText(cause)}`, { cause });
    });
    if (signal.aborted) return;
    this.#consumer = consumer;
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: 8,
      eachBatch: (payload) => {
        // Ends one that joined after all, so that it does not keep partitions without handling them.
        if (signal.aborted) return Promise.reject(new Error('this session is over'));
        this.#take(payload);
        return Promise.resolve();
      },
    });
  }

  /** Follows the membership. @throws (asynchronously) when the consumer crashed or was silent for too long */
  #watch(consumer: Consumer, silenceMaxMs: number, signal: AbortSignal): Promise<never> {
    let lastSignMs = performance.now();
    const alive = () => {
      lastSignMs = performance.now();
    };
    const { FETCH, HEARTBEAT, GROUP_JOIN, REBALANCING, CRASH } = consumer.events;
    consumer.on(FETCH, alive);
    consumer.on(HEARTBEAT, alive);
    consumer.on(GROUP_JOIN, ({ payload }) => {
      alive();
      if (!signal.aborted) this.#joined(payload.memberId, payload.memberAssignment);
    });
    // Commits of the old generation count until the new one begins.
    consumer.on(REBALANCING, () => this.#commits.flush());
    const broken = new Promise<never>((_resolve, reject) => {
      consumer.on(CRASH, ({ payload }) => reject(payload.error));
      const check = setInterval(() => {
        const silentMs = performance.now() - lastSignMs;
        if (silentMs > silenceMaxMs) reject(new Error('the consumer has been silent for too long'));
      }, silenceMaxMs / 4);
      signal.addEventListener('abort', () => clearInterval(check), { once: true });
    });
    broken.catch(() => undefined); // It may break when it is not awaited: while disconnecting.
    return broken;
  }

  /**
   * Abandons partitions that are no longer ours. With the same member ID the membership had no gap, so our
   * state of the partitions we kept is still valid. With a new one, another consumer may have had them.
   */
  #joined(memberId: string, assignment: Readonly<Record<string, readonly number[]>>): void {
    for (const [name, held] of this.#partitions) {
      const kept = assignment[held.topic]?.includes(held.partition) ?? false;
      if (kept && memberId === this.#memberId) continue;
      held.work.abandon();
      this.#partitions.delete(name);
    }
    this.#memberId = memberId;
    this.#assignment = assignment;
    this.#connected = true;
    this.#error = null;
    this.#commits.advanced(1); // A commit that the rejoin made stale is made again.
  }

  #take({ batch, resolveOffset, pause }: EachBatchPayload): void {
    const ours = this.#assignment[batch.topic]?.includes(batch.partition) ?? false;
    if (this.#draining || !ours) return;
    const held = this.#hold(batch.topic, batch.partition, BigInt(batch.highWatermark));
    for (const message of batch.messages) {
      const offset = BigInt(message.offset);
      if (held.next !== null && offset < held.next) continue;
      held.next = offset + 1n;
      this.#submit(held, message);
    }
    // Where to fetch next; nothing is committed by it.
    resolveOffset(batch.lastOffset());
    if (held.work.full) {
      const resume = pause();
      void held.work.room().then(resume);
    }
  }

  #hold(topic: string, partition: number, highWatermark: bigint): Assignment {
    const name = `${topic}/${partition}`;
    const held = this.#partitions.get(name);
    if (held !== undefined) {
      held.highWatermark = highWatermark;
      if (held.next === null || held.next <= highWatermark) return held;
      // The log ends before what we have seen of it: the topic was made anew.
      held.work.abandon();
    }
    const work = this.#engine.open(name, (count) => this.#commits.advanced(count));
    const fresh: Assignment = {
      topic,
      partition,
      work,
      highWatermark,
      next: null,
      committed: null,
    };
    this.#partitions.set(name, fresh);
    return fresh;
  }

  #submit({ topic, partition, work }: Assignment, message: KafkaMessage): void {
    const { offset, key, value, headers } = message;
    work.submit(
      {
        topic: topic.slice(this.#options.prefix.length),
        key: key?.toString() ?? '',
        value: value?.toString() ?? '',
        headers: textHeaders(headers),
        offset: `${partition}/${offset}`,
      },
      String(BigInt(offset) + 1n),
    );
  }

  async #commit(): Promise<void> {
    const consumer = this.#consumer;
    const due = [...this.#partitions.values()].flatMap((held) => {
      const offset = held.work.position;
      return offset === null || offset === held.committed ? [] : [{ held, offset }];
    });
    if (consumer === null || due.length === 0) return;
    try {
      await consumer.commitOffsets(
        due.map(({ held: { topic, partition }, offset }) => ({ topic, partition, offset })),
      );
    } catch (error) {
      // Not an error: the group moves on without us for a moment, and rejoining commits again.
      if (errorTypes(error).some((type) => staleCommit.has(type))) return;
      throw error;
    }
    for (const { held, offset } of due) held.committed = offset;
  }

  /** A partition with a full window is not fetched, so the broker is asked for its current end. */
  async #measure(): Promise<ConsumerStatus> {
    const held = [...this.#partitions.values()];
    const busy = new Set(held.filter(({ work }) => work.unfinished > 0).map(({ topic }) => topic));
    try {
      for (const topic of busy) {
        const ends = await this.#ends.of(topic);
        for (const partition of held) {
          const end = partition.topic === topic ? ends.get(partition.partition) : undefined;
          if (end !== undefined && end > partition.highWatermark) partition.highWatermark = end;
        }
      }
    } catch (error) {
      this.observe.problem?.('counting what is not read yet', error);
    }
    return this.consumerStatus;
  }

  #lag(): number {
    let messages = 0;
    for (const { work, highWatermark, next } of this.#partitions.values()) {
      messages += work.unfinished + Math.max(0, Number(highWatermark - (next ?? highWatermark)));
    }
    return messages;
  }

  #dropAll(): void {
    for (const { work } of this.#partitions.values()) work.abandon();
    this.#partitions.clear();
    this.#assignment = {};
  }
}

interface Assignment {
  /** As Kafka knows it, with the prefix. */
  readonly topic: string;
  readonly partition: number;
  readonly work: Partition;
  highWatermark: bigint;
  /** The offset after the last one taken; null before the first. */
  next: bigint | null;
  committed: string | null;
}

const staleCommit = new Set(['REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID']);

const partitionBytesMax = 524_288;
const fetchWaitMs = 200;
/** How long the partitions of a silently dead consumer wait for the others. */
const sessionMs = 10_000;
const heartbeatMs = 3_000;
const rebalanceTimeoutMs = 30_000;
// With the drain and the relay's own, within the ten seconds of a shutdown.
const lastCommitMs = 2_000;
const disconnectMs = 1_500;
const restartInitialMs = 200;
const restartMaxMs = 5_000;
