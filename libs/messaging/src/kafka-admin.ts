import { abortableDelay } from './delay.js';
import { kafkaClient, type KafkaAdmin, type KafkaSettings } from './kafka-client.js';
import { errorTypes, KafkaFailure } from './kafka-failure.js';

export interface TopicSpec {
  /** Without the prefix. */
  readonly topic: string;
  readonly partitions: number;
  readonly retentionMs: number;
}

/** How many brokers store each message, and how many must store it before it is acknowledged. */
export interface Replication {
  readonly factor: number;
  readonly minInsyncReplicas: number;
}

/** Survives the loss of one broker: messages are still accepted and none is lost. */
export const productionReplication: Replication = { factor: 3, minInsyncReplicas: 2 };

export interface TopicReport {
  /** As Kafka knows it, with the prefix. */
  readonly topic: string;
  /** `missing`: a dry run would have created it. `extended`: it got partitions. */
  readonly outcome: 'created' | 'missing' | 'extended' | 'unchanged' | 'differs';
  /** The differences, each as `name: is X, should be Y`; empty without any. */
  readonly differences: readonly string[];
  /** Whether it is replicated less than asked for: the loss of one broker may lose messages. */
  readonly isAtRisk: boolean;
}

export interface ApplyTopicsOptions {
  readonly prefix: string;
  /** Of new topics, and what existing ones are compared with. Absent: the broker's default, and not compared. */
  readonly replication?: Replication;
  /** Changes nothing. */
  readonly dryRun?: boolean;
  /** Gives topics with too few partitions the declared number. Keys move to other partitions by that. */
  readonly addPartitions?: boolean;
}

/**
 * Creates the topics that are missing and says what differs in those that exist. Never deletes anything, and
 * changes an existing topic only by `addPartitions`: a shorter retention would delete.
 * Running it twice, or in two places at once, does no harm.
 * @throws KafkaFailure when the broker cannot be reached, or refuses to create a topic
 */
export async function applyTopics(
  settings: KafkaSettings,
  options: ApplyTopicsOptions,
  specs: readonly TopicSpec[],
): Promise<readonly TopicReport[]> {
  const admin = (await kafkaClient(settings)).admin();
  try {
    const reports: TopicReport[] = [];
    for (const spec of specs) reports.push(await applyTopic(admin, options, spec));
    return reports;
  } finally {
    await admin.close();
  }
}

async function applyTopic(
  admin: KafkaAdmin,
  { prefix, replication, dryRun = false, addPartitions = false }: ApplyTopicsOptions,
  spec: TopicSpec,
): Promise<TopicReport> {
  const topic = prefix + spec.topic;
  const none = { topic, differences: [], isAtRisk: false };
  if (dryRun) {
    if ((await onceElected(() => admin.describeTopic(topic))) === null)
      return { ...none, outcome: 'missing' };
  } else if (await onceElected(() => create(admin, topic, spec, replication)))
    return { ...none, outcome: 'created' };
  const compare = () => onceElected(() => compared(admin, topic, spec, replication));
  const before = await compare();
  if (before.partitions < spec.partitions && addPartitions && !dryRun) {
    await admin.addPartitions(topic, spec.partitions);
    const { differences, isAtRisk } = await compare();
    return { topic, outcome: 'extended', differences, isAtRisk };
  }
  const { differences, isAtRisk } = before;
  return {
    topic,
    outcome: differences.length === 0 ? 'unchanged' : 'differs',
    differences,
    isAtRisk,
  };
}

/** A new topic has no leader for a moment. */
async function onceElected<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!errorTypes(error).some((type) => notYet.has(type)) || attempt >= electionAttemptsMax)
        throw error;
      await abortableDelay(electionPollMs, new AbortController().signal);
    }
  }
}

const notYet = new Set(['LEADER_NOT_AVAILABLE', 'UNKNOWN_TOPIC_OR_PARTITION', 'NOT_CONTROLLER']);
const electionAttemptsMax = 50;
const electionPollMs = 100;

/** @returns false when it exists */
function create(
  admin: KafkaAdmin,
  topic: string,
  spec: TopicSpec,
  replication: Replication | undefined,
): Promise<boolean> {
  const insync =
    replication === undefined ? {} : { [minInsync]: String(replication.minInsyncReplicas) };
  return admin.createTopic({
    topic,
    partitions: spec.partitions,
    ...(replication === undefined ? {} : { replicas: replication.factor }),
    configs: { [retention]: String(spec.retentionMs), ...insync },
  });
}

const retention = 'retention.ms';
const minInsync = 'min.insync.replicas';

async function compared(
  admin: KafkaAdmin,
  topic: string,
  spec: TopicSpec,
  replication: Replication | undefined,
): Promise<Pick<TopicReport, 'differences' | 'isAtRisk'> & { readonly partitions: number }> {
  const found = await admin.describeTopic(topic);
  if (found === null)
    throw new KafkaFailure(`${topic} does not exist`, ['UNKNOWN_TOPIC_OR_PARTITION']);
  const { partitions, replicas } = found;
  const settings = await admin.topicConfigs(topic, [retention, minInsync]);
  const replicated =
    replication === undefined
      ? []
      : [
          { name: 'replication factor', is: String(replicas), should: String(replication.factor) },
          {
            name: minInsync,
            is: settings[minInsync] ?? 'unknown',
            should: String(replication.minInsyncReplicas),
          },
        ];
  const facts = [
    { name: 'partitions', is: String(partitions), should: String(spec.partitions) },
    {
      name: retention,
      is: settings[retention] ?? 'unknown',
      should: String(spec.retentionMs),
    },
    ...replicated,
  ];
  return {
    partitions,
    differences: facts
      .filter(({ is, should }) => is !== should)
      .map(({ name, is, should }) => `${name}: is ${is}, should be ${should}`),
    isAtRisk: replicated.some(({ is, should }) => !(Number(is) >= Number(should))),
  };
}
