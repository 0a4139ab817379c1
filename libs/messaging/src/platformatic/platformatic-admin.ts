import {
  AclOperations,
  AclPermissionTypes,
  Admin,
  type BaseOptions,
  ConfigResourceTypes,
  ListOffsetTimestamps,
  ResourcePatternTypes,
  ResourceTypes,
} from '@platformatic/kafka';
import { entryOf, grantsIn } from '../acl-entries.js';
import { asFailure, failureOf } from '../kafka-failure.js';
import type { KafkaAcl, KafkaAdmin } from '../kafka-port.js';

export function platformaticAdmin(options: BaseOptions): KafkaAdmin {
  const admin = new Admin(options);
  const ask = <Answer>(work: () => Promise<Answer>) => asFailure(work);
  return {
    ping: () => ask(async () => void (await admin.metadata({ topics: [], forceUpdate: true }))),
    createTopic: ({ topic, partitions, replicas, configs }) =>
      ask(async () => {
        try {
          await admin.createTopics({
            topics: [topic],
            partitions,
            replicas: replicas ?? brokersDefault,
            configs: Object.entries(configs).map(([name, value]) => ({ name, value })),
          });
          return true;
        } catch (error) {
          if (failureOf(error).types.includes('TOPIC_ALREADY_EXISTS')) return false;
          throw error;
        }
      }),
    describeTopic: (topic) => ask(() => describeTopic(admin, topic)),
    topicConfigs: (topic, names) =>
      ask(async () => {
        const [found] = await admin.describeConfigs({
          resources: [
            {
              resourceType: ConfigResourceTypes.TOPIC,
              resourceName: topic,
              configurationKeys: [...names],
            },
          ],
        });
        return Object.fromEntries(
          (found?.configs ?? []).map(({ name, value }) => [name, value ?? undefined]),
        );
      }),
    addPartitions: (topic, count) =>
      ask(() => admin.createPartitions({ topics: [{ name: topic, count }] })),
    offsets: (topic) => ask(() => offsets(admin, topic)),
    committed: (group, topics) => ask(() => committed(admin, group, topics)),
    acls: () => ask(() => allAcls(admin)),
    createAcls: (acls) => ask(() => admin.createAcls({ creations: acls.map(entryOf) })),
    close: () => ask(() => admin.close()),
  };
}

const brokersDefault = -1;

async function partitionsOf(admin: Admin, topic: string) {
  const { topics } = await admin.metadata({ topics: [topic], forceUpdate: true });
  return topics.get(topic)?.partitions ?? [];
}

async function describeTopic(admin: Admin, topic: string) {
  try {
    const partitions = await partitionsOf(admin, topic);
    return {
      partitions: partitions.length,
      replicas: Math.min(...partitions.map(({ replicas }) => replicas.length)),
    };
  } catch (error) {
    if (failureOf(error).types.includes('UNKNOWN_TOPIC_OR_PARTITION')) return null;
    throw error;
  }
}

async function offsets(admin: Admin, topic: string) {
  const partitions = await partitionsOf(admin, topic);
  const at = async (timestamp: bigint) => {
    const [found] = await admin.listOffsets({
      topics: [
        {
          name: topic,
          partitions: partitions.map((_, partitionIndex) => ({ partitionIndex, timestamp })),
        },
      ],
    });
    return new Map(
      (found?.partitions ?? []).map(({ partitionIndex, offset }) => [partitionIndex, offset]),
    );
  };
  const lows = await at(ListOffsetTimestamps.EARLIEST);
  const highs = await at(ListOffsetTimestamps.LATEST);
  return partitions.map((_, partition) => ({
    partition,
    low: lows.get(partition) ?? 0n,
    high: highs.get(partition) ?? 0n,
  }));
}

async function committed(admin: Admin, group: string, names: readonly string[]) {
  const topics = await Promise.all(
    names.map(async (name) => ({
      name,
      partitionIndexes: [...(await partitionsOf(admin, name)).keys()],
    })),
  );
  const [found] = await admin.listConsumerGroupOffsets({ groups: [{ groupId: group, topics }] });
  return (found?.topics ?? []).flatMap(({ name: topic, partitions }) =>
    partitions.map(({ partitionIndex: partition, committedOffset: offset }) => ({
      ...{ topic, partition, offset: offset < 0n ? null : offset },
    })),
  );
}

async function allAcls(admin: Admin): Promise<readonly KafkaAcl[]> {
  const resources = await admin.describeAcls({
    filter: {
      resourceType: ResourceTypes.ANY,
      resourceName: null,
      resourcePatternType: ResourcePatternTypes.ANY,
      principal: null,
      host: null,
      operation: AclOperations.ANY,
      permissionType: AclPermissionTypes.ANY,
    },
  });
  return grantsIn(resources);
}
