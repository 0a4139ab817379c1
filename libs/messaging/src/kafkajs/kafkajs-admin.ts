import kafkajs, { type Admin, type Kafka } from 'kafkajs';
import { entryOf, grantsIn } from '../acl-entries.js';
import { asFailure, errorTypes, failureOf } from '../kafka-failure.js';
import type { KafkaAcl, KafkaAdmin } from '../kafka-port.js';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;

export function kafkaJsAdmin(kafka: Kafka): KafkaAdmin {
  let connecting: Promise<Admin> | null = null;
  /** After a failed attempt the next call tries again. */
  const connected = () => {
    connecting ??= connect(kafka).catch((error: unknown) => {
      connecting = null;
      throw error;
    });
    return connecting;
  };
  const ask = <Answer>(work: (admin: Admin) => Promise<Answer>) =>
    asFailure(async () => work(await connected()));
  return {
    ping: () => ask(async (admin) => void (await admin.describeCluster())),
    createTopic: ({ topic, partitions, replicas, configs }) =>
      ask((admin) =>
        admin.createTopics({
          // Waiting for the leaders may fail with UNKNOWN_TOPIC_OR_PARTITION although the topic is made.
          waitForLeaders: false,
          topics: [
            {
              topic,
              numPartitions: partitions,
              replicationFactor: replicas ?? brokersDefault,
              configEntries: Object.entries(configs).map(([name, value]) => ({ name, value })),
            },
          ],
        }),
      ),
    describeTopic: (topic) => ask((admin) => describeTopic(admin, topic)),
    topicConfigs: (topic, names) => ask((admin) => topicConfigs(admin, topic, names)),
    addPartitions: (topic, count) =>
      ask(async (admin) => {
        await admin.createPartitions({ topicPartitions: [{ topic, count }] });
      }),
    offsets: (topic) =>
      ask(async (admin) =>
        (await admin.fetchTopicOffsets(topic)).map(({ partition, low, high }) => ({
          ...{ partition, low: BigInt(low), high: BigInt(high) },
        })),
      ),
    committed: (group, topics) =>
      ask(async (admin) => {
        const found = await admin.fetchOffsets({ groupId: group, topics: [...topics] });
        return found.flatMap(({ topic, partitions }) =>
          partitions.map(({ partition, offset }) => ({
            ...{ topic, partition, offset: BigInt(offset) < 0n ? null : BigInt(offset) },
          })),
        );
      }),
    acls: () => ask(allAcls),
    createAcls: (acls) =>
      ask(async (admin) => {
        await admin.createAcls({ acl: acls.map(entryOf) });
      }),
    async close() {
      const admin = await connecting?.catch(() => null);
      connecting = null;
      await admin?.disconnect();
    },
  };
}

const brokersDefault = -1;

async function connect(kafka: Kafka): Promise<Admin> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    return admin;
  } catch (error) {
    await admin.disconnect().catch(() => undefined); // It was never connected.
    throw error;
  }
}

async function describeTopic(admin: Admin, topic: string) {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    const partitions = topics[0]?.partitions ?? [];
    return {
      partitions: partitions.length,
      replicas: Math.min(...partitions.map(({ replicas }) => replicas.length)),
    };
  } catch (error) {
    if (errorTypes(failureOf(error)).includes('UNKNOWN_TOPIC_OR_PARTITION')) return null;
    throw error;
  }
}

async function topicConfigs(admin: Admin, topic: string, names: readonly string[]) {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames: [...names] }],
  });
  const entries = resources[0]?.configEntries ?? [];
  return Object.fromEntries(
    entries.map(({ configName, configValue }) => [configName, configValue]),
  );
}

async function allAcls(admin: Admin): Promise<readonly KafkaAcl[]> {
  const { resources } = await admin.describeAcls({
    resourceType: AclResourceTypes.ANY,
    resourcePatternType: ResourcePatternTypes.ANY,
    operation: AclOperationTypes.ANY,
    permissionType: AclPermissionTypes.ANY,
  });
  return grantsIn(resources);
}
