import { closeAfterEach, until } from '@pis/local-servers/testing';
import { Kafka } from 'kafkajs';
import type { LostMessages } from './kafka-losses.js';
import {
  type GroupMember,
  kafkaClientNames,
  type MemberEvents,
  type MemberOptions,
} from './kafka-client.js';
import { KafkaConsumerStrategy } from './kafka.server.js';
import { kafkaHarness } from './testing/kafka-harness.js';
import { memoryDeferredMessages } from './testing/memory.js';
import { Stage } from './testing/stage.js';

const given = process.env['PIS_TEST_KAFKA_BROKERS'];
const brokers = (given ?? '').split(',');
/** Skipped, and counted as skipped, without a broker. */
const describeOnBroker = given === undefined ? describe.skip : describe;
const timeoutMs = 240_000;
const atEnd = closeAfterEach();

/** Reads nothing while it is held up. */
class HeldUp extends KafkaConsumerStrategy {
  isHeldUp = false;
  /** The offset of the message that it was given last, and did not read. */
  refused: bigint | null = null;

  protected override openMember(
    options: MemberOptions,
    events: MemberEvents,
  ): Promise<GroupMember> {
    const fetched: MemberEvents['fetched'] = (batch) => {
      if (!this.isHeldUp) return events.fetched(batch);
      this.refused = batch.messages[0]?.offset ?? null;
      return null;
    };
    return super.openMember(options, { ...events, fetched });
  }
}

describeOnBroker.each(kafkaClientNames)(
  'on %s messages that Kafka deletes unread are reported',
  (client) => {
    async function scene() {
      const harness = await kafkaHarness(brokers, { client });
      atEnd(() => harness.close());
      const stage = await Stage.create(harness, 1);
      const { topic, group } = stage;
      const handled: unknown[] = [];
      const lost: LostMessages[] = [];
      const consumer = async () => {
        const strategy = new HeldUp({
          ...{ group, deferred: memoryDeferredMessages(), prefix: 'spec.' },
          kafka: { brokers, client, clientId: 'losses-spec' },
          heartbeatIntervalMs: 100,
          observe: { lost: (messages) => lost.push(messages) },
        });
        const handle = (value: unknown) => Promise.resolve(void handled.push(value));
        atEnd(() => strategy.close());
        strategy.addHandler(topic, handle as never, true);
        strategy.listen(() => undefined);
        await until(() => strategy.consumerStatus.connected, { timeoutMs: timeoutMs / 2 });
        return strategy;
      };
      /** As the retention of the topic does. */
      const deleteUpTo = async (offset: string) => {
        const admin = new Kafka({ brokers, clientId: 'losses-spec' }).admin();
        await admin.connect();
        // So that it knows the topic.
        await admin.fetchTopicOffsets(`spec.${topic}`);
        const partitions = [{ partition: 0, offset }];
        await admin.deleteTopicRecords({ topic: `spec.${topic}`, partitions });
        await admin.disconnect();
      };
      const handles = (count: number) =>
        until(() => handled.length === count, { timeoutMs: timeoutMs / 2, what: 'the messages' });
      const committed = (count: number) =>
        until(async () => (await harness.committed(group, topic)) === count, {
          timeoutMs: timeoutMs / 2,
          what: 'the commit',
        });
      const expected = { topic, partition: 0, from: '1', to: '3', count: 2 };
      return { stage, handled, lost, consumer, deleteUpTo, handles, committed, expected };
    }

    it(
      'while no process of the group runs',
      async () => {
        const { stage, handled, lost, consumer, deleteUpTo, ...here } = await scene();
        const before = await consumer();
        await stage.publish('a:1');
        await here.committed(1);
        await before.close();
        await stage.publish('a:2', 'a:3', 'a:4');
        await deleteUpTo('3');
        await consumer();
        await here.handles(2);
        await here.committed(4);
        expect(handled).toEqual(['a:1', 'a:4']);
        expect(lost).toEqual([here.expected]);
      },
      timeoutMs,
    );

    it(
      'while a process of the group does not come to them',
      async () => {
        const { stage, handled, lost, consumer, deleteUpTo, ...here } = await scene();
        const strategy = await consumer();
        await stage.publish('a:1');
        await here.handles(1);
        strategy.isHeldUp = true;
        await stage.publish('a:2', 'a:3', 'a:4');
        await deleteUpTo('3');
        await until(() => strategy.refused === 3n, { timeoutMs: timeoutMs / 2 });
        strategy.isHeldUp = false;
        await here.handles(2);
        expect(handled).toEqual(['a:1', 'a:4']);
        await until(() => lost.length > 0, { timeoutMs: timeoutMs / 2 });
        expect(lost).toEqual([here.expected]);
      },
      timeoutMs,
    );
  },
);
