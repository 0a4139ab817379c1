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

export interface TopicReport {
  /** As Kafka knows it, with the prefix. */
  readonly topic: string;
  readonly outcome: 'created' | 'unchanged' | 'differs';
  /** What differs, each as `name: is X, should be Y`; empty otherwise. */
  readonly differences: readonly string[];
}

/**
 * Creates the topics that are missing and says what differs in those that exist. Never changes an
 * existing one: more partitions would move keys to other partitions, a shorter retention would delete.
 * Running it twice, or in two places at once, does no harm.
 * @throws when the broker cannot be reached, or refuses to create a topic
 */
export async function applyTopics(
  settings: KafkaSettings,
  { prefix }: { readonly prefix: string },
  specs: readonly TopicSpec[],
): Promise<readonly TopicReport[]> {
  const admin = kafkaClient(settings).admin();
  try {
    await admin.connect();
    const reports: TopicReport[] = [];
    for (const spec of specs) {
      const topic = prefix + spec.topic;
      // Creating is asked for first: a list of what exists fails while any topic elects a leader.
      const created = await onceElected(() => create(admin, topic, spec));
      const differences = await onceElected(() => differencesOf(admin, topic, spec));
      const existing = differences.length === 0 ? 'unchanged' : 'differs';
      reports.push(
        created
          ? { topic, outcome: 'created', differences: [] }
          : { topic, outcome: existing, differences },
      );
    }
    return reports;
  } finally {
    await admin.disconnect();
  }
}

/** A topic just made has no leader for a moment; kafkajs asks for all topics, also other people's. */
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
function create(admin: Admin, topic: string, spec: TopicSpec): Promise<boolean> {
  return admin.createTopics({
    // Waiting for the leaders may fail with UNKNOWN_TOPIC_OR_PARTITION although the topic is made.
    waitForLeaders: false,
    topics: [
      {
        topic,
        numPartitions: spec.partitions,
        // The broker's default, so that one broker and a cluster of three both do what they are set to.
        replicationFactor: -1,
        configEntries: [{ name: 'retention.ms', value: String(spec.retentionMs) }],
      },
    ],
  });
}

async function differencesOf(admin: Admin, topic: string, spec: TopicSpec): Promise<string[]> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  const partitions = topics[0]?.partitions.length ?? 0;
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [
      { type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames: ['retention.ms'] },
    ],
  });
  const retention = resources[0]?.configEntries.find(
    ({ configName }) => configName === 'retention.ms',
  )?.configValue;
  const compared = [
    { name: 'partitions', is: String(partitions), should: String(spec.partitions) },
    { name: 'retention.ms', is: retention ?? 'unknown', should: String(spec.retentionMs) },
  ];
  return compared
    .filter(({ is, should }) => is !== should)
    .map(({ name, is, should }) => `${name}: is ${is}, should be ${should}`);
}
