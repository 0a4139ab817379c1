import type { Consumer, EachBatchPayload, IHeaders, Kafka } from 'kafkajs';
import { atMost } from '../delay.js';
import { asFailure, failureOf, KafkaFailure } from '../kafka-failure.js';
import {
  type GroupMember,
  kafkaLimits,
  type MemberEvents,
  type MemberOptions,
  type TopicPartition,
} from '../kafka-port.js';

/**
 * A kafkajs consumer. It fetches by itself; batches are handed over and not waited for.
 *
 * Before it joins a group that hands out the partitions anew, kafkajs ends its fetches. But when a leader has moved it
 * joins in the middle of them. What the others fetched before then comes afterwards, and begins where this member was
 * and not where the group has committed: all messages in between would be skipped. Such a member is given up.
 */
export class KafkaJsMember implements GroupMember {
  readonly broken: Promise<never>;
  readonly #consumer: Consumer;
  readonly #stopped = new AbortController();
  #started: Promise<void> = Promise.resolve();
  /** It has joined in the middle of its fetches. */
  #isUnsure = false;

  constructor(
    kafka: Kafka,
    private readonly options: MemberOptions,
    private readonly events: MemberEvents,
  ) {
    this.#consumer = kafka.consumer({
      groupId: options.group,
      sessionTimeout: options.sessionTimeoutMs,
      heartbeatInterval: options.heartbeatIntervalMs,
      rebalanceTimeout: options.rebalanceTimeoutMs,
      maxBytesPerPartition: kafkaLimits.partitionBytesMax,
      maxWaitTimeInMs: kafkaLimits.fetchWaitMs,
      allowAutoTopicCreation: false,
      // Its own restart leaves a dead consumer after an unknown error, so the caller replaces it instead.
      retry: { retries: 3, restartOnFailure: () => Promise.resolve(false) },
    });
    this.broken = this.#follow();
  }

  start(): Promise<void> {
    this.#started = asFailure(() => this.#begin());
    return this.#started;
  }

  commit(offsets: readonly (TopicPartition & { readonly offset: string })[]): Promise<void> {
    return asFailure(() => this.#consumer.commitOffsets([...offsets]));
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    // kafkajs cannot stop a consumer that is still joining; it would come to life afterwards.
    await atMost(
      kafkaLimits.disconnectMs,
      this.#started.catch(() => undefined),
    );
    await asFailure(() => this.#consumer.disconnect());
  }

  unwrap(): Consumer {
    return this.#consumer;
  }

  /** Connects, joins and starts fetching, unless it is stopped meanwhile. */
  async #begin(): Promise<void> {
    const topics = [...this.options.topics];
    const { signal } = this.#stopped;
    await this.#consumer.connect();
    if (signal.aborted) return;
    await this.#consumer.subscribe({ topics, fromBeginning: true }).catch((cause: unknown) => {
      const { message, types } = failureOf(cause);
      throw new KafkaFailure(`subscribing to ${topics.join(', ')}: ${message}`, types, cause);
    });
    if (signal.aborted) return;
    await this.#consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: 8,
      eachBatch: (payload) => {
        // Ends one that joined after all, so that it does not keep partitions without handling them.
        if (signal.aborted || this.#isUnsure)
          return Promise.reject(new Error('this member was stopped'));
        this.#take(payload);
        return Promise.resolve();
      },
    });
  }

  #follow(): Promise<never> {
    const { FETCH, HEARTBEAT, GROUP_JOIN, REBALANCING, CRASH } = this.#consumer.events;
    const alive = () => this.events.alive();
    this.#consumer.on(FETCH, alive);
    this.#consumer.on(HEARTBEAT, alive);
    let mayJoin = true;
    this.#consumer.on(REBALANCING, () => {
      mayJoin = true;
      // On the connection of the commit the request to join comes after it.
      void this.events.rebalancing();
    });
    const broken = new Promise<never>((_resolve, reject) => {
      this.#consumer.on(CRASH, ({ payload }) => reject(failureOf(payload.error)));
      this.#consumer.on(GROUP_JOIN, ({ payload }) => {
        alive();
        if (this.#isUnsure || this.#stopped.signal.aborted) return;
        this.#isUnsure = !mayJoin;
        mayJoin = false;
        if (this.#isUnsure)
          reject(new KafkaFailure('joined the group again while it was reading', []));
        else this.events.joined(payload.memberId, payload.memberAssignment);
      });
    });
    broken.catch(() => undefined); // It may break when nobody waits for it: while it disconnects.
    return broken;
  }

  #take({ batch, resolveOffset, pause }: EachBatchPayload): void {
    const last = batch.lastOffset();
    const taken = this.events.fetched({
      topic: batch.topic,
      partition: batch.partition,
      highWatermark: BigInt(batch.highWatermark),
      next: BigInt(last) + 1n,
      messages: batch.messages.map(({ offset, key, value, headers, timestamp }) => ({
        offset: BigInt(offset),
        key: key?.toString() ?? '',
        value: value?.toString() ?? '',
        headers: textHeaders(headers),
        timestamp: Number(timestamp),
      })),
    });
    if (taken === null) return;
    // Where to fetch next; nothing is committed by it.
    resolveOffset(last);
    if (taken.room !== null) {
      const resume = pause();
      void taken.room.then(resume);
    }
  }
}

/** Headers as text; of a repeated header the last one counts. */
function textHeaders(headers: IHeaders | undefined): Record<string, string> {
  const text: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers ?? {})) {
    const last = Array.isArray(value) ? value.at(-1) : value;
    if (last !== undefined) text[name] = last.toString();
  }
  return text;
}
