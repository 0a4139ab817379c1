import { randomUUID } from 'node:crypto';
import { until } from '@pis/local-servers/testing';
import { applyTopics } from './kafka-admin.js';
import {
  kafkaClient,
  type KafkaClientName,
  kafkaClientNames,
  type KafkaSettings,
} from './kafka-client.js';
import { kafkaPublisher } from './kafka.publisher.js';
import { KafkaConsumerStrategy } from './kafka.server.js';
import { MessageContext } from './message-context.js';
import { messagingConformance } from './testing/conformance.js';
import { kafkaHarness } from './testing/kafka-harness.js';
import { memoryDeferredMessages } from './testing/memory.js';

const given = process.env['PIS_TEST_KAFKA_BROKERS'];
const brokers = (given ?? '').split(',');
const timeoutMs = 60_000;

if (given === undefined) {
  describe('the Kafka transport', () => {
    it.skip('needs a broker: Java and Maven, or KAFKA_BROKERS', () => undefined);
  });
} else {
  for (const client of kafkaClientNames)
    messagingConformance(`the Kafka transport on ${client}`, () =>
      kafkaHarness(brokers, { client }),
    );
}

(given === undefined ? describe.skip : describe)('a topic that the brokers compress', () => {
  /** A topic with one message, whatever the publisher did. */
  async function compressed(codec: string): Promise<string> {
    const topic = `topic-${randomUUID()}`;
    const settings: KafkaSettings = { brokers, clientId: 'compression-spec' };
    const admin = (await kafkaClient(settings)).admin();
    const configs = { 'compression.type': codec };
    await admin.createTopic({ topic, partitions: 1, configs });
    await admin.close();
    const publisher = kafkaPublisher(settings, { prefix: '' });
    const message = { topic, key: 'a', value: JSON.stringify(codec.repeat(100)), headers: {} };
    await until(
      () =>
        publisher.publish([message]).then(
          () => true,
          () => false, // It has no leader for a moment.
        ),
      { timeoutMs },
    );
    await publisher.close();
    return topic;
  }

  async function read(client: KafkaClientName, topic: string) {
    const seen: unknown[] = [];
    const strategy = new KafkaConsumerStrategy({
      ...{ group: topic, prefix: '', deferred: memoryDeferredMessages() },
      kafka: { brokers, clientId: 'compression-spec', client },
    });
    const handle = (value: unknown) => Promise.resolve(void seen.push(value));
    strategy.addHandler(topic, handle as never, true);
    strategy.listen(() => undefined);
    const complaint = () => strategy.consumerStatus.error ?? '';
    await until(() => seen.length > 0 || complaint().includes('not implemented'), {
      timeoutMs,
      what: `${topic} is read`,
    });
    const error = complaint();
    await strategy.close();
    return seen.length > 0 ? seen : error;
  }

  it.each([
    { client: 'kafkajs', codecs: ['gzip'] },
    { client: 'platformatic', codecs: ['gzip', 'snappy', 'lz4', 'zstd'] },
  ] as const)(
    'is read by $client with $codecs',
    async ({ client, codecs }) => {
      for (const codec of codecs)
        expect(await read(client, await compressed(codec))).toEqual([codec.repeat(100)]);
    },
    timeoutMs,
  );

  it(
    'is not read by kafkajs with zstd, and its consumer says so',
    async () => {
      expect(await read('kafkajs', await compressed('zstd'))).toMatch(/not implemented/);
    },
    timeoutMs,
  );
});

(given === undefined ? describe.skip : describe)('an operator who changes KAFKA_CLIENT', () => {
  const prefix = 'spec.';
  const settings = (client: (typeof kafkaClientNames)[number]): KafkaSettings => ({
    ...{ brokers, client, clientId: 'change-spec' },
  });
  const createTopic = async (partitions: number) => {
    const topic = `topic-${randomUUID()}`;
    await applyTopics(settings('kafkajs'), { prefix }, [
      { topic, partitions, retentionMs: 3_600_000 },
    ]);
    return topic;
  };

  it(
    'keeps the order of each key, because both clients put it into the same partition',
    async () => {
      const topic = await createTopic(12);
      const keys = Array.from({ length: 60 }, (_, n) => `payment-${n}-${'ä'.repeat(n % 5)}`);
      for (const client of kafkaClientNames) {
        const publisher = kafkaPublisher(settings(client), { prefix });
        await publisher.publish(keys.map((key) => ({ topic, key, value: client, headers: {} })));
        await publisher.close();
      }
      const partitions = new Map<string, number[]>();
      let read = 0;
      const reader = (await kafkaClient(settings('platformatic'))).member(
        {
          group: `${prefix}${topic}`,
          topics: [prefix + topic],
          sessionTimeoutMs: 30_000,
          rebalanceTimeoutMs: 60_000,
          heartbeatIntervalMs: 3_000,
        },
        {
          alive: () => undefined,
          joined: () => undefined,
          rebalancing: () => Promise.resolve(),
          fetched: ({ partition, messages }) => {
            for (const { key } of messages)
              partitions.set(key, [...(partitions.get(key) ?? []), partition]);
            read += messages.length;
            return { room: null };
          },
        },
      );
      await reader.start();
      await until(() => read === 2 * keys.length, { timeoutMs });
      await reader.stop();
      for (const [key, [first, second]] of partitions)
        expect({ key, second }).toEqual({ key, second: first });
      expect(new Set([...partitions.values()].flat()).size).toBe(12);
    },
    timeoutMs,
  );

  it(
    'may have both in one group for a while: they share the partitions, and nothing is handled twice',
    async () => {
      const topic = await createTopic(6);
      const handled: string[] = [];
      const open = (client: (typeof kafkaClientNames)[number]) => {
        const strategy = new KafkaConsumerStrategy({
          ...{ group: topic, prefix, deferred: memoryDeferredMessages() },
          ...{ kafka: settings(client), heartbeatIntervalMs: 100, commitIntervalMs: 20 },
        });
        const handle = (_value: unknown, context: unknown) => {
          const { key } = (context as MessageContext).getDelivery();
          handled.push(`${client} ${key}`);
          return Promise.resolve();
        };
        strategy.addHandler(topic, handle as never, true);
        strategy.listen(() => undefined);
        return strategy;
      };
      const publisher = kafkaPublisher(settings('platformatic'), { prefix });
      const publish = (round: string) =>
        publisher.publish(
          Array.from({ length: 40 }, (_, n) => ({
            ...{ topic, key: `${round}-${n}`, value: '1', headers: {} },
          })),
        );
      const of = (client: string, round: string) =>
        handled.filter((line) => line.startsWith(`${client} ${round}-`)).length;
      const both = [open('kafkajs'), open('platformatic')];
      // Both are members once each has handled some.
      let rounds = 0;
      await until(
        async () => {
          rounds += 1;
          const round = `round${rounds}`;
          await publish(round);
          await until(() => of('kafkajs', round) + of('platformatic', round) >= 40, { timeoutMs });
          return of('kafkajs', round) > 0 && of('platformatic', round) > 0;
        },
        { timeoutMs },
      );
      const settled = handled.length;
      await publish('settled');
      await until(() => handled.length >= settled + 40, { timeoutMs });
      const keys = handled.slice(settled).map((line) => line.split(' ')[1]);
      expect(new Set(keys).size).toBe(40);
      await Promise.all(both.map((strategy) => strategy.close()));
      await publisher.close();
    },
    timeoutMs,
  );
});
