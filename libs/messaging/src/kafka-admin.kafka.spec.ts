import { randomUUID } from 'node:crypto';
import { applyTopics, productionReplication } from './kafka-admin.js';
import { kafkaClientNames, type KafkaSettings } from './kafka-client.js';
import { kafkaProgress } from './kafka-progress.js';
import { kafkaPublisher } from './kafka.publisher.js';
import { kafkaHarness } from './testing/kafka-harness.js';

const given = process.env['PIS_TEST_KAFKA_BROKERS'];
const brokers = (given ?? '').split(',');
/** Skipped, and counted as skipped, without a broker. */
const onBroker = given === undefined ? it.skip : it;
const settings: KafkaSettings = { brokers, clientId: 'kafka-admin-spec' };
const prefix = 'spec.';
const one = { factor: 1, minInsyncReplicas: 1 };
const timeoutMs = 120_000;

const spec = () => ({ topic: `topic-${randomUUID()}`, partitions: 2, retentionMs: 3_600_000 });

onBroker(
  'a topic is created with its replication, and compared with it from then on',
  async () => {
    const topic = spec();
    const apply = (replication = one) => applyTopics(settings, { prefix, replication }, [topic]);
    expect(await apply()).toMatchObject([{ outcome: 'created', isAtRisk: false }]);
    expect(await apply()).toMatchObject([{ outcome: 'unchanged', isAtRisk: false }]);
    expect(await apply(productionReplication)).toMatchObject([
      {
        outcome: 'differs',
        differences: [
          'replication factor: is 1, should be 3',
          'min.insync.replicas: is 1, should be 2',
        ],
        isAtRisk: true,
      },
    ]);
    expect(await applyTopics(settings, { prefix }, [topic])).toMatchObject([
      { outcome: 'unchanged', isAtRisk: false },
    ]);
  },
  timeoutMs,
);

onBroker.each(kafkaClientNames)(
  'on %s a dry run says what is missing or differs and changes nothing; partitions are only raised, and only on request',
  async (client) => {
    const topic = spec();
    const more = { ...topic, partitions: 5 };
    const apply = async (
      declared: typeof topic,
      options: { dryRun?: boolean; addPartitions?: boolean } = {},
    ) => {
      const [report] = await applyTopics({ ...settings, client }, { prefix, ...options }, [
        declared,
      ]);
      return [report?.outcome, report?.differences];
    };
    const few = ['partitions: is 2, should be 5'];
    expect(await apply(topic, { dryRun: true })).toEqual(['missing', []]);
    expect(await apply(topic, { dryRun: true })).toEqual(['missing', []]);
    expect(await apply(topic)).toEqual(['created', []]);
    expect(await apply(more)).toEqual(['differs', few]);
    expect(await apply(more, { addPartitions: true, dryRun: true })).toEqual(['differs', few]);
    expect(await apply(more, { addPartitions: true })).toEqual(['extended', []]);
    expect(await apply(more, { addPartitions: true })).toEqual(['unchanged', []]);
    expect(await apply(topic, { addPartitions: true })).toEqual([
      'differs',
      ['partitions: is 5, should be 2'],
    ]);
  },
  timeoutMs,
);

onBroker(
  'a topic that needs three brokers is not created on one',
  async () => {
    const replication = productionReplication;
    await expect(applyTopics(settings, { prefix, replication }, [spec()])).rejects.toMatchObject({
      types: ['INVALID_REPLICATION_FACTOR'],
    });
  },
  timeoutMs,
);

onBroker(
  'a group has reached the ends of its topics once it has committed what came before them',
  async () => {
    const harness = await kafkaHarness(brokers);
    const topic = await harness.createTopic({ partitions: 2 });
    const publisher = kafkaPublisher(settings, { prefix });
    const progress = kafkaProgress(settings, { prefix, topics: [topic] });
    try {
      expect(await progress.hasReached('nobody', await progress.ends())).toBe(true);
      await publisher.publish([{ topic, key: 'a', value: '1', headers: {} }]);
      expect(await progress.hasReached('nobody', await progress.ends())).toBe(false);
    } finally {
      await progress.close();
      await publisher.close();
      await harness.close();
    }
  },
  timeoutMs,
);
