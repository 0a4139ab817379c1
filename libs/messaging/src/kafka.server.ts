import { CommitSchedule } from './commit-schedule.js';
import { ConsumerStrategy, type ConsumerOptions, type ConsumerStatus } from './consumer.server.js';
import { aborted, abortableDelay, atMost } from './delay.js';
import { errorText } from './errors.js';
import {
  type Assignment,
  type FetchedBatch,
  type FetchedMessage,
  type GroupMember,
  kafkaClient,
  kafkaLimits,
  type KafkaSettings,
  type MemberEvents,
  type MemberOptions,
  type Taken,
} from './kafka-client.js';
import { parkInKafka } from './kafka-dead-letters.js';
import { KafkaEnds } from './kafka-ends.js';
import { errorTypes } from './kafka-failure.js';
import { KafkaLosses } from './kafka-losses.js';
import { KafkaReadCheck } from './kafka-read-check.js';
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
  /** How long a partition may have messages that are not read, while it is ours and not full. */
  readonly unreadMaxMs?: number;
}

/**
 * The Kafka consumer. The client library fetches and keeps the membership (kafka-client.ts). The key queues
 * handle the messages. A batch is handed over and not waited for, so fetching and heartbeats continue however
 * long a handler takes. A partition with a full window is paused. Handlers of a partition that was taken away
 * run to their end, and their results do not count. Its new owner may begin the same message meanwhile, so
 * handlers are idempotent.
 *
 * What always holds: only the contiguous prefix of a partition is committed, and only while the
 * partition is ours. A rejoin may fetch again from the last commit; what this process still
 * holds of a partition that it kept is recognized by its offset and not handled twice.
 */
export class KafkaConsumerStrategy extends ConsumerStrategy {
  readonly #options: KafkaConsumerOptions;
  readonly #engine: ConsumerEngine;
  readonly #commits: CommitSchedule;
  readonly #deadLetters: ReturnType<typeof kafkaPublisher>;
  readonly #ends: KafkaEnds;
  readonly #losses: KafkaLosses;
  readonly #readCheck: KafkaReadCheck;
  readonly #ending = new AbortController();
  readonly #partitions = new Map<string, Held>();
  #assignment: Assignment = {};
  #memberId: string | null = null;
  #member: GroupMember | null = null;
  #draining = false;
  #loop: Promise<void> = Promise.resolve();
  #checking: Promise<void> = Promise.resolve();
  /** The look for lost messages that is under way. */
  #comparing: Promise<void> = Promise.resolve();
  #connected = false;
  #error: string | null = 'not started';
  #lastSignMs = performance.now();

  constructor(options: KafkaConsumerOptions) {
    super(options);
    this.#options = options;
    this.#deadLetters = kafkaPublisher(options.kafka, options);
    this.#ends = new KafkaEnds(options.kafka);
    this.#losses = new KafkaLosses({
      kafka: options.kafka,
      group: options.prefix + options.group,
      onLost: ({ topic, ...lost }) =>
        this.observe.lost?.({ topic: topic.slice(options.prefix.length), ...lost }),
    });
    this.#readCheck = new KafkaReadCheck({
      kafka: options.kafka,
      group: options.prefix + options.group,
      unreadMaxMs: options.unreadMaxMs ?? unreadMs,
      partitions: () => this.#assigned(),
      problem: (error) => this.observe.problem?.('asking what is not read yet', error),
    });
    this.#engine = this.createEngine((delivery, error) =>
      parkInKafka(this.#deadLetters, this.group, delivery, error),
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
    const unread = this.#readCheck.complaint;
    const connected = this.#connected && unread === null;
    return { connected, lag, oldestUnfinishedMs, error: this.#error ?? unread };
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
      atMost(kafkaLimits.disconnectMs, this.#deadLetters.close()),
      atMost(kafkaLimits.disconnectMs, this.#ends.close()),
      atMost(kafkaLimits.disconnectMs, this.#losses.close()),
      atMost(kafkaLimits.disconnectMs, this.#endReadCheck()),
    ]);
  }

  /** After its last query, which would connect again. */
  async #endReadCheck(): Promise<void> {
    await this.#checking.catch(() => undefined); // What it found has ended the session.
    await this.#readCheck.close();
  }

  /** The client library's consumer, null while it is not connected. */
  override unwrap<T>(): T {
    return (this.#member?.unwrap() ?? null) as T;
  }

  /** Runs one member of the group after the other: a broken one is replaced, with backoff. */
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

  /** The life of one member. Returns at the end of the strategy. @throws why it ended earlier */
  async #session(): Promise<void> {
    const session = new AbortController();
    const member = await this.#open(session.signal);
    const ended = aborted(this.#ending.signal);
    try {
      const { prefix } = this.#options;
      const topics = this.topics.map((topic) => prefix + topic);
      const started = atMost(
        comparingMaxMs,
        this.#compare(() => this.#losses.check(topics)),
      )
        .then(() => (session.signal.aborted ? undefined : member.start()))
        .then(() => ended);
      this.#checking = this.#readCheck.run(session.signal);
      const unread = this.#checking.then(() => ended);
      const silent = this.#silence(session.signal);
      await Promise.race([started, unread, silent, member.broken, ended]);
    } finally {
      session.abort();
      this.#member = null;
      this.#memberId = null;
      const stopped = member.stop().catch((error: unknown) => {
        this.observe.problem?.('disconnecting', error);
      });
      await atMost(stopMs, stopped);
    }
  }

  async #open(signal: AbortSignal): Promise<GroupMember> {
    const { prefix, group } = this.#options;
    this.#alive();
    const member = await this.openMember(
      {
        group: prefix + group,
        topics: this.topics.map((topic) => prefix + topic),
        sessionTimeoutMs: this.#sessionTimeoutMs,
        rebalanceTimeoutMs,
        heartbeatIntervalMs: this.#options.heartbeatIntervalMs ?? heartbeatMs,
      },
      {
        alive: () => this.#alive(),
        // Commits of the old generation count until the new one begins.
        rebalancing: () => this.#commits.flush(),
        joined: (memberId, assignment) => {
          if (!signal.aborted) this.#joined(memberId, assignment);
        },
        fetched: (batch) => (signal.aborted ? null : this.#take(batch)),
      },
    );
    this.#member = member;
    return member;
  }

  /** Tests put themselves between the member and its events. */
  protected async openMember(options: MemberOptions, events: MemberEvents): Promise<GroupMember> {
    return (await kafkaClient(this.#options.kafka)).member(options, events);
  }

  get #sessionTimeoutMs(): number {
    return this.#options.sessionTimeoutMs ?? sessionMs;
  }

  #alive(): void {
    this.#lastSignMs = performance.now();
  }

  /** @throws (asynchronously) when no broker has given a sign of life for too long */
  #silence(signal: AbortSignal): Promise<never> {
    const silenceMaxMs = this.#sessionTimeoutMs + rebalanceTimeoutMs;
    return new Promise<never>((_resolve, reject) => {
      const check = setInterval(() => {
        const silentMs = performance.now() - this.#lastSignMs;
        if (silentMs > silenceMaxMs) reject(new Error('the consumer has been silent for too long'));
      }, silenceMaxMs / 4);
      signal.addEventListener('abort', () => clearInterval(check), { once: true });
    });
  }

  /**
   * Abandons partitions that are no longer ours. With the same member ID the membership had no gap, so our
   * state of the partitions we kept is still valid. With a new one, another consumer may have had them.
   */
  #joined(memberId: string, assignment: Assignment): void {
    for (const [name, held] of this.#partitions) {
      const kept = assignment[held.topic]?.includes(held.partition) ?? false;
      if (kept && memberId === this.#memberId) continue;
      held.work.abandon();
      this.#partitions.delete(name);
    }
    void this.#compare(() => this.#losses.check(Object.keys(assignment)));
    this.#memberId = memberId;
    this.#assignment = assignment;
    this.#connected = true;
    this.#error = null;
    this.#commits.advanced(1); // A commit that the rejoin made stale is made again.
  }

  #take({ topic, partition, highWatermark, next, messages }: FetchedBatch): Taken | null {
    const ours = this.#assignment[topic]?.includes(partition) ?? false;
    if (this.#draining || !ours) return null;
    const held = this.#hold(topic, partition, highWatermark);
    const [first] = messages;
    if (held.next !== null && first !== undefined && first.offset > held.next) {
      const expected = held.next;
      void this.#compare(() => this.#losses.gap({ topic, partition }, expected));
    }
    for (const message of messages) {
      if (held.next !== null && message.offset < held.next) continue;
      held.next = message.offset + 1n;
      this.#submit(held, message);
    }
    if (held.next === null || held.next < next) held.next = next;
    return { room: held.work.full ? held.work.room() : null };
  }

  /** Looks for lost messages. Never rejects: what keeps it from looking keeps the member from reading, which is reported. */
  #compare(look: () => Promise<void>): Promise<void> {
    this.#comparing = look().catch(() => undefined);
    return this.#comparing;
  }

  #assigned() {
    return Object.entries(this.#assignment).flatMap(([topic, partitions]) =>
      partitions.map((partition) => {
        const held = this.#partitions.get(`${topic}/${partition}`);
        const isPaused = held?.work.isPaused ?? false;
        return { topic, partition, next: held?.next ?? null, isPaused };
      }),
    );
  }

  #hold(topic: string, partition: number, highWatermark: bigint): Held {
    const name = `${topic}/${partition}`;
    const held = this.#partitions.get(name);
    if (held !== undefined) {
      held.highWatermark = highWatermark;
      if (held.next === null || held.next <= highWatermark) return held;
      // The log ends before what we have seen of it: the topic was made anew.
      held.work.abandon();
    }
    const work = this.#engine.open(name, (count) => this.#commits.advanced(count));
    const fresh: Held = {
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

  #submit({ topic, partition, work }: Held, message: FetchedMessage): void {
    const { offset, key, value, headers } = message;
    work.submit(
      {
        ...{ key, value, headers, offset: `${partition}/${offset}` },
        topic: topic.slice(this.#options.prefix.length),
      },
      String(offset + 1n),
    );
  }

  async #commit(): Promise<void> {
    // A commit would hide what was lost before it.
    await atMost(comparingMaxMs, this.#comparing);
    const member = this.#member;
    const due = [...this.#partitions.values()].flatMap((held) => {
      const offset = held.work.position;
      return offset === null || offset === held.committed ? [] : [{ held, offset }];
    });
    if (member === null || due.length === 0) return;
    try {
      await member.commit(
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
          const end = partition.topic === topic ? ends.get(partition.partition)?.high : undefined;
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

interface Held {
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

/** How long the partitions of a silently dead consumer wait for the others. */
const sessionMs = 10_000;
const heartbeatMs = 3_000;
const unreadMs = 30_000;
const rebalanceTimeoutMs = 30_000;
// With the drain and the relay's own, within the ten seconds of a shutdown.
const lastCommitMs = 2_000;
/** How long joining and commits wait for the look. Below the time that a rebalance waits for the last commit. */
const comparingMaxMs = 1_000;
/** A member waits for its joining, its leaving and its connections. */
const stopMs = 3 * kafkaLimits.disconnectMs;
const restartInitialMs = 200;
const restartMaxMs = 5_000;
