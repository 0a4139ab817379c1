/** What this library needs of Kafka. Two client libraries provide it; both pass the same tests (testing/conformance.ts). */
import type { ConnectionOptions } from 'node:tls';

export const kafkaClientNames = ['kafkajs', 'platformatic'] as const;
export type KafkaClientName = (typeof kafkaClientNames)[number];
export const kafkaClientDefault: KafkaClientName = 'kafkajs';

export interface KafkaSettings {
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** The client library. Default: kafkaClientDefault. */
  readonly client?: KafkaClientName;
  /** Its fields are read at each connection. */
  readonly ssl?: boolean | Pick<ConnectionOptions, 'ca' | 'cert' | 'key'>;
  readonly sasl?: KafkaSasl;
  /** How long a broker may take to answer. Default: kafkaLimits.requestTimeoutMs. */
  readonly requestTimeoutMs?: number;
}

export interface KafkaSasl {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
  readonly username: string;
  readonly password: string;
}

/** Every method throws KafkaFailure. Topics and groups are named as Kafka knows them, with the prefix. */
export interface KafkaClient {
  /** Connects at the first call of one of its methods. */
  admin(): KafkaAdmin;
  /** Connects. */
  producer(): Promise<KafkaProducer>;
  /** Does nothing before start(). */
  member(options: MemberOptions, events: MemberEvents): GroupMember;
}

export interface OutgoingMessage {
  readonly topic: string;
  readonly key: string;
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Idempotent, acknowledged by all in-sync replicas, partitioned by the key as Java's clients do. */
export interface KafkaProducer {
  /** Resolves when all messages are durable. After a failure some may be: close it and take a new one. */
  send(messages: readonly OutgoingMessage[]): Promise<void>;
  close(): Promise<void>;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

export interface PartitionRange {
  readonly partition: number;
  /** The offset of the first message that is still there. */
  readonly low: bigint;
  /** The offset after the last message. */
  readonly high: bigint;
}

export interface KafkaAdmin {
  /** Resolves when a broker answers. */
  ping(): Promise<void>;
  /** @returns false when it exists */
  createTopic(topic: NewTopic): Promise<boolean>;
  /** Null when there is none. */
  describeTopic(
    topic: string,
  ): Promise<{ readonly partitions: number; readonly replicas: number } | null>;
  topicConfigs(
    topic: string,
    names: readonly string[],
  ): Promise<Readonly<Record<string, string | undefined>>>;
  /** Raises the number of partitions to `count`. */
  addPartitions(topic: string, count: number): Promise<void>;
  offsets(topic: string): Promise<readonly PartitionRange[]>;
  /** Where the group goes on, in every partition of the topics; null in a partition that it has not committed. */
  committed(
    group: string,
    topics: readonly string[],
  ): Promise<readonly (TopicPartition & { readonly offset: bigint | null })[]>;
  acls(): Promise<readonly KafkaAcl[]>;
  createAcls(acls: readonly KafkaAcl[]): Promise<void>;
  close(): Promise<void>;
}

export interface NewTopic {
  readonly topic: string;
  readonly partitions: number;
  /** Absent: the broker's default. */
  readonly replicas?: number;
  readonly configs: Readonly<Record<string, string>>;
}

/** What a principal may do, from every host. */
export interface KafkaAcl {
  /** `User:name`. */
  readonly principal: string;
  readonly resource: 'topic' | 'group';
  readonly name: string;
  readonly operation: 'read' | 'write' | 'describe';
}

export interface MemberOptions {
  readonly group: string;
  readonly topics: readonly string[];
  /** A member that is silent for this time loses its partitions to the others. */
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
}

export interface MemberEvents {
  /** A sign of life from a broker. */
  alive(): void;
  /** The group was joined or rejoined. Partitions by topic. */
  joined(memberId: string, assignment: Assignment): void;
  /**
   * The group is about to hand out the partitions anew; what is committed now still counts. Resolves when it is
   * committed. The member may wait for that before it joins.
   */
  rebalancing(): Promise<void>;
  /** Null refuses the messages: they are read again when they are still ours. */
  fetched(batch: FetchedBatch): Taken | null;
}

export type Assignment = Readonly<Record<string, readonly number[]>>;

/** The partition is not read until `room` resolves; null reads on. */
export interface Taken {
  readonly room: Promise<void> | null;
}

export interface FetchedBatch extends TopicPartition {
  readonly highWatermark: bigint;
  /** The offset after the batch. Not always one more than that of its last message. */
  readonly next: bigint;
  readonly messages: readonly FetchedMessage[];
}

export interface FetchedMessage {
  readonly offset: bigint;
  readonly key: string;
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** A member of a consumer group that reads the partitions it is given. Used once: start, then stop. */
export interface GroupMember {
  /** Resolves once it has joined and reads. */
  start(): Promise<void>;
  /** Rejects when it has ended by itself. Never resolves. */
  readonly broken: Promise<never>;
  /** Of partitions that it was given. */
  commit(offsets: readonly (TopicPartition & { readonly offset: string })[]): Promise<void>;
  /** Leaves the group. Also stops one that is still joining. */
  stop(): Promise<void>;
  /** The library's own consumer. */
  unwrap(): unknown;
}

/** Limits of every request, the same in both libraries. */
export const kafkaLimits = {
  connectionTimeoutMs: 3_000,
  requestTimeoutMs: 15_000,
  /** How much of a partition is fetched at once. */
  partitionBytesMax: 524_288,
  /** How soon a resumed partition is fetched again, at the latest. */
  fetchWaitMs: 200,
  disconnectMs: 1_500,
} as const;
