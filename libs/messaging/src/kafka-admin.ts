// The default import: Node cannot see this name among the exports of the CommonJS package.
import kafkajs, { type Admin } from 'kafkajs';
import { abortableDelay } from './delay.js';
import { errorTypes, kafkaClient, type KafkaSettings } from './kafka-client.js';

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
  readonly outcome: 'created' | 'unchanged' | 'differs';
  /** The differences, each as `name: is X, should be Y`; empty without any. */
  readonly differences: readonly string[];
  /** Whether it is replicated less than asked for: the loss of one broker may lose messages. */
  readonly isAtRisk: boolean;
}

/**
 * Creates the topics that are missing and says what differs in those that exist. Never changes an
 * existing one: more partitions would move keys to other partitions, a shorter retention would delete.
 * @param options.replication of new topics, and what existing ones are compared with. The broker's
 *   default, and not compared, when absent
 * Running it twice, or in two places at once, does no harm.
 * @throws when the broker cannot be reached, or refuses to create a topic
 */
export async function applyTopics(
  settings: KafkaSettings,
  { prefix, replication }: { readonly prefix: string; readonly replication?: Replication },
  specs: readonly TopicSpec[],
): Promise<readonly TopicReport[]> {
  const admin = kafkaClient(settings).admin();
  try {
    await admin.connect();
    const reports: TopicReport[] = [];
    for (const spec of specs) {
      const topic = prefix + spec.topic;
      // Create first: listing the existing topics fails while any topic elects a leader.
      const created = await onceElected(() => create(admin, topic, spec, replication));
      const { differences, isAtRisk } = await onceElected(() =>
        compared(admin, topic, spec, replication),
      );
      const existing = differences.length === 0 ? 'unchanged' : 'differs';
      reports.push(
        created
          ? { topic, outcome: 'created', differences: [], isAtRisk: false }
          : { topic, outcome: existing, differences, isAtRisk },
      );
    }
    return reports;
  } finally {
    await admin.disconnect();
  }
}

/** A new topic has no leader for a moment. kafkajs asks for all topics, including those of other systems. */
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

const notYet = new Set(['LEADER_NOT_AVAILABLE', 'UNKNOWN_TOPIC_OR_PARTITION']);
const electionAttemptsMax = 50;
const electionPollMs = 100;

/** @returns false when it exists */
function create(
  admin: Admin,
  topic: string,
  spec: TopicSpec,
  replication: Replication | undefined,
): Promise<boolean> {
  const insync =
    replication === undefined
      ? []
      : [{ name: minInsync, value: String(replication.minInsyncReplicas) }];
  return admin.createTopics({
    // Waiting for the leaders may fail with UNKNOWN_TOPIC_OR_PARTITION although the topic is made.
    waitForLeaders: false,
    topics: [
      {
        topic,
        numPartitions: spec.partitions,
        replicationFactor: replication?.factor ?? brokersDefault,
        configEntries: [{ name: 'retention.ms', value: String(spec.retentionMs) }, ...insync],
      },
    ],
  });
}

const brokersDefault = -1;
const minInsync = 'min.insync.replicas';

async function compared(
  admin: Admin,
  topic: string,
  spec: TopicSpec,
  replication: Replication | undefined,
): Promise<Pick<TopicReport, 'differences' | 'isAtRisk'>> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  const partitions = topics[0]?.partitions ?? [];
  const factor = Math.min(...partitions.map(({ replicas }) => replicas.length));
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [
      {
        type: kafkajs.ConfigResourceTypes.TOPIC,
        name: topic,
        configNames: ['retention.ms', minInsync],
      },
    ],
  });
  const setting = (name: string) =>
    resources[0]?.configEntries.find(({ configName }) => configName === name)?.configValue;
  const replicated =
    replication === undefined
      ? []
      : [
          { name: 'replication factor', is: String(factor), should: String(replication.factor) },
          {
            name: minInsync,
            is: setting(minInsync) ?? 'unknown',
            should: String(replication.minInsyncReplicas),
          },
        ];
  const facts = [
    { name: 'partitions', is: String(partitions.length), should: String(spec.partitions) },
    {
      name: 'retention.ms',
      is: setting('retention.ms') ?? 'unknown',
      should: String(spec.retentionMs),
    },
    ...replicated,
  ];
  return {
    differences: facts
      .filter(({ is, should }) => is !== should)
      .map(({ name, is, should }) => `${name}: is ${is}, should be ${should}`),
    isAtRisk: replicated.some(({ is, should }) => !(Number(is) >= Number(should))),
  };
}
