import { until } from '@pis/local-servers/testing';
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
const onBroker = given === undefined ? it.skip : it;
const timeoutMs = 240_000;

/**
 * The first member that is sent messages gets none, as if its fetches had ended silently. One before it may fail to
 * join: a new broker still loads its groups.
 */
class DeafOnce extends KafkaConsumerStrategy {
  #wasDeaf = false;

  protected override async openMember(
    options: MemberOptions,
    events: MemberEvents,
  ): Promise<GroupMember> {
    const fetched = () => {
      this.#wasDeaf = true;
      return { room: new Promise<void>(() => undefined) };
    };
    return super.openMember(options, this.#wasDeaf ? events : { ...events, fetched });
  }
}

onBroker.each(kafkaClientNames)(
  'on %s a partition that is not read although the group looks alive is noticed, and another member reads it',
  async (client) => {
    const harness = await kafkaHarness(brokers, { client });
    const stage = await Stage.create(harness, 2);
    const { topic, group } = stage;
    const problems: string[] = [];
    const handled: unknown[] = [];
    /** What is reported once it was found. */
    const reports: boolean[] = [];
    const isFound = () => problems.some((text) => text.includes('not read'));
    const strategy = new DeafOnce({
      group,
      deferred: memoryDeferredMessages(),
      kafka: { brokers, client, clientId: 'unread-spec' },
      prefix: 'spec.',
      heartbeatIntervalMs: 100,
      unreadMaxMs: 2_000,
      progressIntervalMs: 10,
      observe: {
        problem: (_doing, error) => problems.push(String(error)),
        progress: ({ connected }) => {
          if (isFound()) reports.push(connected);
        },
      },
    });
    const handle = (value: unknown) => Promise.resolve(void handled.push(value));
    strategy.addHandler(topic, handle as never, true);
    strategy.listen(() => undefined);
    await until(() => strategy.consumerStatus.connected, { timeoutMs: timeoutMs / 2 });
    await stage.publish('a:1', 'b:1', 'c:1', 'd:1');
    await until(isFound, { timeoutMs: timeoutMs / 2 });
    expect(problems.join()).toContain(
      `PartitionUnread: not read although the group is alive: spec.${topic}/`,
    );
    await until(() => handled.length === 4, { timeoutMs: timeoutMs / 2 });
    await until(() => strategy.consumerStatus.connected, { timeoutMs: timeoutMs / 2 });
    await until(() => reports.at(-1) === true, { timeoutMs: timeoutMs / 2 });
    expect(reports[0]).toBe(false);
    await strategy.close();
    await harness.close();
    expect(handled.sort()).toEqual(['a:1', 'b:1', 'c:1', 'd:1']);
  },
  timeoutMs,
);
