import {
  type BaseOptions,
  Consumer,
  type ConsumerOptions,
  type GroupAssignment,
} from '@platformatic/kafka';
import { abortableDelay, atMost } from '../delay.js';
import { asFailure, failureOf, KafkaFailure } from '../kafka-failure.js';
import {
  type Assignment,
  type GroupMember,
  kafkaLimits,
  type MemberEvents,
  type MemberOptions,
  type TopicPartition,
} from '../kafka-port.js';
import { assignInTurn } from './platformatic-assigner.js';
import { PartitionReader } from './platformatic-reader.js';

/**
 * A member of a group, made of three consumers of the library: one keeps the membership, one reads
 * (platformatic-reader.ts), one commits. The library's own commit joins the group again when it comes too late,
 * and then commits for partitions that are no longer ours; and a fetch that waits would hold up heartbeats.
 */
export class PlatformaticMember implements GroupMember {
  readonly broken: Promise<never>;
  readonly #group: Consumer;
  readonly #readerClient: Consumer;
  readonly #reader: PartitionReader;
  readonly #stopped = new AbortController();
  readonly #break: (failure: KafkaFailure) => void;
  #committer: Consumer | null = null;
  /** The commit before the group hands out the partitions anew. */
  #committed: Promise<void> = Promise.resolve();
  #started: Promise<void> = Promise.resolve();
  /** As of the last assignment: what comes too late must not count for the next generation. */
  #membership: { readonly memberId: string; readonly generationId: number } | null = null;

  constructor(
    private readonly base: () => BaseOptions,
    private readonly options: MemberOptions,
    private readonly events: MemberEvents,
  ) {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined); // It may break when nobody waits for it: while it stops.
    this.broken = promise;
    this.#break = reject;
    this.#group = this.#openGroup();
    this.#readerClient = this.#open({ retries: 2, requestTimeout: shortRequestMs });
    this.#reader = new PartitionReader(this.#readerClient, options.topics, events, reject);
  }

  start(): Promise<void> {
    this.#started = asFailure(() => this.#begin());
    return this.#started;
  }

  async commit(offsets: readonly (TopicPartition & { readonly offset: string })[]): Promise<void> {
    const membership = this.#membership;
    if (membership === null) throw new KafkaFailure('not a member', ['UNKNOWN_MEMBER_ID']);
    await this.#withCommitter(async (committer) => {
      Object.assign(committer, membership);
      await committer.commit({
        offsets: offsets.map(({ topic, partition, offset }) => ({
          ...{ topic, partition, offset: BigInt(offset), leaderEpoch: -1 },
        })),
      });
    });
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#reader.stop();
    const started = this.#started.catch(() => undefined);
    await atMost(kafkaLimits.disconnectMs, started);
    const others = [this.#readerClient, ...(this.#committer ? [this.#committer] : [])];
    await Promise.all([left(this.#group), ...others.map((client) => closed(client))]);
  }

  unwrap(): Consumer {
    return this.#group;
  }

  async #begin(): Promise<void> {
    const topics = [...this.options.topics];
    await this.#group.metadata({ topics: [...topics] }).catch((cause: unknown) => {
      const { message, types } = failureOf(cause);
      throw new KafkaFailure(`subscribing to ${topics.join(', ')}: ${message}`, types, cause);
    });
    if (this.#stopped.signal.aborted) return;
    for (const topic of topics) this.#group.topics.track(topic);
    await this.#group.joinGroup({});
  }

  #openGroup(): Consumer {
    const { sessionTimeoutMs, rebalanceTimeoutMs, heartbeatIntervalMs } = this.options;
    const group = this.#open({
      sessionTimeout: sessionTimeoutMs,
      rebalanceTimeout: rebalanceTimeoutMs,
      heartbeatInterval: heartbeatIntervalMs,
      // After that time the group has given our partitions to others.
      heartbeatStallTimeout: sessionTimeoutMs,
      // A broker answers a join when the others have joined too.
      requestTimeout: rebalanceTimeoutMs + shortRequestMs,
      // The name that kafkajs uses, so that both libraries can be in one group while an operator changes it.
      protocols: [{ name: 'RoundRobinAssigner', version: 0 }],
      partitionAssigner: assignInTurn,
      // Asked before each request to join. The commit has another connection, and after the joining it counts no longer.
      protocolsMetadata: async () => {
        await atMost(lastCommitMs, this.#committed);
        return noMetadata;
      },
    });
    group.on('consumer:heartbeat:end', () => this.events.alive());
    group.on('consumer:group:rebalance', () => {
      this.#committed = this.events.rebalancing();
    });
    group.on('consumer:group:join', ({ memberId, generationId = 0, assignments = [] }) =>
      this.#joined(memberId, generationId, assignments),
    );
    group.on('error', (error: Error) => this.#break(failureOf(error)));
    group.on('consumer:heartbeat:stalled', ({ lastError }) => {
      const cause = lastError === undefined ? '' : `: ${failureOf(lastError).message}`;
      this.#break(
        new KafkaFailure(`the group's coordinator does not answer${cause}`, [], lastError),
      );
    });
    return group;
  }

  #open(options: Partial<ConsumerOptions<Buffer, Buffer, Buffer, Buffer>>): Consumer {
    const consumer = new Consumer({
      ...this.base(),
      groupId: this.options.group,
      autocommit: false,
      ...options,
    });
    consumer.on('error', () => undefined); // What matters is thrown by the call that failed.
    return consumer;
  }

  #joined(memberId: string, generationId: number, assigned: readonly GroupAssignment[]): void {
    if (this.#stopped.signal.aborted) return;
    const isSame = memberId === this.#membership?.memberId;
    this.#membership = { memberId, generationId };
    const assignment: Assignment = Object.fromEntries(
      assigned.map(({ topic, partitions }) => [topic, partitions]),
    );
    this.events.alive();
    this.events.joined(memberId, assignment);
    const partitions = assigned.flatMap(({ topic, partitions: those }) =>
      those.map((partition) => ({
        ...{ topic, partition, isKept: isSame && this.#reader.has(topic, partition) },
      })),
    );
    // What was taken away is read no longer, whatever the look-up does.
    this.#reader.assign(
      partitions.filter(({ isKept }) => isKept).map((kept) => ({ ...kept, next: null })),
    );
    void this.#readAll(partitions, generationId).catch((error: unknown) =>
      this.#break(failureOf(error)),
    );
  }

  /** Begins to read the partitions that are new, each where the group has committed. */
  async #readAll(
    partitions: readonly (TopicPartition & { readonly isKept: boolean })[],
    generationId: number,
  ): Promise<void> {
    const fresh = partitions.filter(({ isKept }) => !isKept);
    if (fresh.length === 0) return;
    const starts = await this.#starts(fresh);
    // Assigned anew meanwhile: that one looks up for itself.
    if (this.#stopped.signal.aborted || this.#membership?.generationId !== generationId) return;
    this.#reader.assign(
      partitions.map(({ topic, partition, isKept }) => ({
        ...{ topic, partition, next: isKept ? null : (starts.get(`${topic}/${partition}`) ?? 0n) },
      })),
    );
  }

  async #starts(partitions: readonly TopicPartition[]): Promise<ReadonlyMap<string, bigint>> {
    const topics = [...Map.groupBy(partitions, ({ topic }) => topic)].map(([topic, those]) => ({
      topic,
      partitions: those.map(({ partition }) => partition),
    }));
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#withCommitter((committer) => startsOf(committer, topics));
      } catch (error) {
        if (attempt >= startAttemptsMax || this.#stopped.signal.aborted) throw error;
        await abortableDelay(startPauseMs, this.#stopped.signal);
      }
    }
  }

  /** After a failure the next call has a new one, which asks another broker first. */
  async #withCommitter<Result>(work: (committer: Consumer) => Promise<Result>): Promise<Result> {
    // Without retries: it would join the group again to retry.
    const committer = (this.#committer ??= this.#open({
      retries: 0,
      requestTimeout: shortRequestMs,
    }));
    try {
      return await work(committer);
    } catch (error) {
      if (this.#committer === committer) this.#committer = null;
      void closed(committer);
      throw failureOf(error);
    }
  }
}

/** Below what a partition may stay unread, several times. */
const shortRequestMs = 5_000;
/** Below the time that the group waits for a member. */
const lastCommitMs = 2_000;
const noMetadata = Buffer.alloc(0);
const startAttemptsMax = 10;
const startPauseMs = 200;
const earliest = -2n;

/** By `topic/partition`: where the group has committed, else the first message that is left. */
async function startsOf(
  committer: Consumer,
  topics: readonly { readonly topic: string; readonly partitions: number[] }[],
): Promise<ReadonlyMap<string, bigint>> {
  const committed = await committer.listCommittedOffsets({ topics: [...topics] });
  const starts = new Map<string, bigint>();
  for (const { topic, partitions } of topics) {
    const missing: number[] = [];
    for (const partition of partitions) {
      const offset = committed.get(topic)?.[partition] ?? -1n;
      if (offset >= 0n) starts.set(`${topic}/${partition}`, offset);
      else missing.push(partition);
    }
    if (missing.length === 0) continue;
    const first = await committer.listOffsets({
      topics: [topic],
      partitions: { [topic]: missing },
      timestamp: earliest,
    });
    for (const partition of missing)
      starts.set(`${topic}/${partition}`, first.get(topic)?.[partition] ?? 0n);
  }
  return starts;
}

/** Closes it, with its connections even if a broker does not answer. */
async function closed(client: Consumer): Promise<void> {
  await atMost(
    kafkaLimits.disconnectMs,
    client.close(true).catch(() => undefined),
  );
  client.connections.close(() => undefined); // Both failures concern only what is over.
}

/** Ends its heartbeats too, also when the broker does not answer. Never for the committer, which borrows the ID. */
async function left(group: Consumer): Promise<void> {
  const leaving = new Promise<void>((resolve) => group.leaveGroup(true, () => resolve()));
  await atMost(kafkaLimits.disconnectMs, leaving);
  await closed(group);
}
