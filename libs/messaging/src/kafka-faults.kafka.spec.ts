/** Faults that only Kafka has. The broker belongs to this file, so that tests may kill it. */
import { startKafka, type Kafka } from '@pis/local-servers';
import { until } from '@pis/local-servers/testing';
import { BrokerUnavailable, kafkaPublisher, MessageRefused } from './kafka.publisher.js';
import { applyTopics } from './kafka-admin.js';
import { KafkaConsumerStrategy } from './kafka.server.js';
import { deadLetterHeaders, deadLetterTopicOf } from './message-headers.js';
import type { Message } from './message.js';
import { memoryDeferredMessages } from './testing/memory.js';
import { gate, type MessagingHarness, sees, Stage, timeoutMs, type Seen } from './testing/stage.js';
import { kafkaHarness, readAll } from './testing/kafka-harness.js';
import { kafkaClientNames } from './kafka-client.js';

const withBroker = process.env['PIS_TEST_KAFKA_BROKERS'] === undefined ? describe.skip : describe;

withBroker.each(kafkaClientNames)('over Kafka on %s (skipped without a broker)', (client) => {
  let kafka: Kafka;
  let harness: MessagingHarness;
  /** Those who die with the broker are members until their session ends. */
  let shortSessions: MessagingHarness;
  let stage: Stage | null = null;
  const settings = () => ({ brokers: kafka.brokers, clientId: 'faults-spec', client });

  beforeAll(async () => {
    kafka = await startKafka({
      properties: {
        'group.min.session.timeout.ms': '500',
        'broker.session.timeout.ms': '3000',
        'broker.heartbeat.interval.ms': '200',
      },
    });
    harness = await kafkaHarness(kafka.brokers, { client });
    shortSessions = await kafkaHarness(kafka.brokers, { client, sessionTimeoutMs: 2_000 });
  }, 90_000);
  afterEach(async () => {
    await stage?.close();
    stage = null;
  });
  afterAll(async () => {
    await harness.close();
    await shortSessions.close();
    await kafka.stop();
  });

  const create = async (partitions: number) => {
    stage = await Stage.create(harness, partitions);
    return stage;
  };
  const partitionOf = ({ offset }: { readonly offset: string }) => offset.split('/')[0] ?? '';
  const partitionsOf = (seen: Seen) => new Set(seen.deliveries.map(partitionOf));

  it('a second consumer takes over partitions while the first is handling: nothing is lost, and kept partitions repeat nothing', async () => {
    const { publish, consume, untilCommitted } = bound(await create(6));
    const items = Array.from({ length: 60 }, (_, n) => `k${n}:1`);
    await publish(...items);
    const work = gate();
    const first = consume(() => work.opened, { concurrencyMax: 100 });
    await sees(first, items.length);
    const second = consume(() => undefined);
    await until(() => second.values.length > 0, { timeoutMs, what: 'partitions moved' });
    work.open();
    await untilCommitted(items.length);

    const moved = partitionsOf(second);
    expect(moved.size).toBeGreaterThan(0);
    expect(moved.size).toBeLessThan(6);
    const movedItems = first.deliveries.filter((delivery) => moved.has(partitionOf(delivery)));
    expect(second.values).toHaveLength(movedItems.length);
    expect(first.values.sort()).toEqual(items.sort());
  });

  it('what was handled before partitions moved is not handled again by a consumer that takes them over', async () => {
    const { publish, consume } = bound(await create(6));
    const rounds = ['1', '2'].map((round) =>
      Array.from({ length: 60 }, (_, n) => `k${n}:${round}`),
    );
    const [before = [], after = []] = rounds;
    await publish(...before);
    // Only the move commits.
    const first = consume(() => undefined, { commitIntervalMs: 600_000, commitCountMax: 10_000 });
    await sees(first, before.length);
    const second = consume(() => undefined);
    await until(() => second.strategy.consumerStatus.connected, { timeoutMs });
    await publish(...after);
    await until(() => first.values.length + second.values.length >= 120, { timeoutMs });
    expect([...first.values, ...second.values].sort()).toEqual([...before, ...after].sort());
    expect(second.values.length).toBeGreaterThan(0);
  });

  it('a consumer that leaves while handling hands over its unfinished messages', async () => {
    const { publish, consume, untilCommitted } = bound(await create(4));
    const never = new Promise(() => undefined);
    const first = consume((value) => (value.endsWith('slow') ? never : null), { drainMs: 10 });
    const second = consume(() => undefined);
    await until(() => first.strategy.consumerStatus.connected, { timeoutMs });
    const items = Array.from({ length: 40 }, (_, n) => `k${n}:${n % 5 === 0 ? 'slow' : 'fast'}`);
    await publish(...items);
    await until(() => first.values.length + second.values.length >= 40, { timeoutMs });
    await first.strategy.abandon();
    await untilCommitted(items.length);
    const done = [...first.values.filter((value) => value.endsWith('fast')), ...second.values];
    expect([...new Set(done)].sort()).toEqual(items.sort());
  });

  it('a handler may take longer than the session: the consumer stays a member', async () => {
    const { publish, consume, untilCommitted, topic, group } = bound(await create(1));
    const work = gate();
    const sessionTimeoutMs = 3_000;
    const strategy = new KafkaConsumerStrategy({
      group,
      deferred: memoryDeferredMessages(),
      kafka: settings(),
      prefix: 'spec.',
      sessionTimeoutMs,
      heartbeatIntervalMs: 200,
      inFlightMax: 1,
    });
    let handled = 0;
    const handle = async () => {
      handled += 1;
      await work.opened;
    };
    strategy.addHandler(topic, handle as never, true);
    strategy.listen(() => undefined);
    await publish('a:1');
    await until(() => handled === 1, { timeoutMs });
    const since = performance.now();
    const other = consume(() => undefined, { group: `${group}-2` });
    await until(() => performance.now() - since > sessionTimeoutMs * 2, { timeoutMs });
    work.open();
    await untilCommitted(1);
    expect(handled).toBe(1);
    expect(other.values).toEqual(['a:1']);
    await strategy.close();
  });

  it('a consumer with a full window counts the messages that arrive', async () => {
    const { publish, consume } = bound(await create(1));
    const hangs = gate();
    const lags: number[] = [];
    await publish('a:1', 'a:2');
    const seen = consume(() => hangs.opened, {
      inFlightMax: 2,
      progressIntervalMs: 50,
      observe: { progress: ({ lag }) => lags.push(lag) },
    });
    await sees(seen, 1);
    await until(() => lags.at(-1) === 2, { timeoutMs });
    await publish(...Array.from({ length: 30 }, (_, n) => `b:${n}`));
    await until(() => lags.at(-1) === 32, { timeoutMs });
    hangs.open();
    await until(() => lags.at(-1) === 0, { timeoutMs });
  });

  it('the broker dies and comes back: all parts report it, nothing is lost, and all continue by themselves', async () => {
    const problems: string[] = [];
    stage = await Stage.create(shortSessions, 3);
    const { publish, consume, untilCommitted, group, topic } = bound(stage);
    const work = gate();
    const idle = consume(() => undefined, {
      observe: { problem: (doing) => problems.push(doing) },
    });
    const busy = consume(() => work.opened, { group: `${group}-busy` });
    const leaving = consume(() => undefined, { group: `${group}-leaving` });
    await publish('a:1', 'b:1', 'c:1');
    await untilCommitted(3);
    await untilCommitted(3, `${group}-leaving`);
    await sees(busy, 3);

    await kafka.kill();
    await expect(publish('a:2')).rejects.toThrow(BrokerUnavailable);
    const probe = kafkaPublisher(settings(), { prefix: '' });
    await expect(probe.ping()).rejects.toThrow(BrokerUnavailable);
    await until(() => !idle.strategy.consumerStatus.connected, { timeoutMs });
    expect(problems).toContain('consuming');
    // Handled while nothing can be committed.
    work.open();
    const late = consume(() => undefined, { group: `${group}-late` });
    await until(() => late.strategy.consumerStatus.error?.includes('ECONNREFUSED'), { timeoutMs });
    expect(late.strategy.consumerStatus.connected).toBe(false);
    const sinceMs = performance.now();
    await leaving.strategy.close();
    expect(performance.now() - sinceMs).toBeLessThan(15_000);

    await kafka.restart();
    await until(() => publish('a:2').then(() => true), { timeoutMs });
    await probe.ping();
    for (const { values } of [idle, busy, late]) {
      await until(() => values.includes('a:2'), { timeoutMs });
    }
    await until(async () => (await harness.committed(`${group}-busy`, topic)) >= 4, {
      timeoutMs,
    });
    expect(idle.strategy.consumerStatus).toMatchObject({ connected: true, error: null });
    // Committed before the broker died: not delivered again.
    expect(idle.values.filter((value) => value.endsWith(':1')).sort()).toEqual([
      'a:1',
      'b:1',
      'c:1',
    ]);
    expect(new Set(late.values)).toEqual(new Set(['a:1', 'b:1', 'c:1', 'a:2']));
  }, 90_000);

  it('the broker hangs while something is to be committed and published: the shutdown does not hang', async () => {
    const { publish, consume } = bound(await create(2));
    const seen = consume(() => undefined, { commitIntervalMs: 60_000, commitCountMax: 1_000 });
    const publisher = kafkaPublisher(settings(), { prefix: 'spec.' });
    await publisher.publish([{ topic: stage?.topic ?? '', key: 'a', value: '"a:0"', headers: {} }]);
    await publish('a:1', 'b:1');
    await sees(seen, 3);
    process.kill(kafka.pid, 'SIGSTOP');
    const sinceMs = performance.now();
    const lost = publisher
      .publish([{ topic: stage?.topic ?? '', key: 'a', value: '"a:2"', headers: {} }])
      .catch((error: unknown) => error);
    // As in an app: the relay first, then the consumers.
    await publisher.close();
    await seen.strategy.close();
    expect(performance.now() - sinceMs).toBeLessThan(15_000);
    process.kill(kafka.pid, 'SIGCONT');
    await lost;
    // Handled again, or committed by a request that the broker received before it hung.
    consume(() => undefined);
    await until(async () => ((await stage?.committed()) ?? 0) >= 3, { timeoutMs });
  }, 90_000);

  it('a consumer whose topic does not exist yet waits for it', async () => {
    const group = 'early';
    const topic = `later-${process.hrtime.bigint()}`;
    const strategy = new KafkaConsumerStrategy({
      group,
      deferred: memoryDeferredMessages(),
      kafka: settings(),
      prefix: 'spec.',
    });
    let handled = 0;
    strategy.addHandler(topic, (() => Promise.resolve(void (handled += 1))) as never, true);
    strategy.listen(() => undefined);
    await until(() => strategy.consumerStatus.error?.includes('UNKNOWN_TOPIC'), { timeoutMs });
    await applyTopics(settings(), { prefix: 'spec.' }, [
      { topic, partitions: 1, retentionMs: 3_600_000 },
    ]);
    await harness.publish([{ topic, key: 'a', value: '1', headers: {} }]);
    await until(() => handled === 1, { timeoutMs });
    await strategy.close();
  });

  it('a message that cannot be parked is retried until it can, and nothing behind it is committed', async () => {
    const topic = `no-dlq-${process.hrtime.bigint()}`;
    const spec = { partitions: 1, retentionMs: 3_600_000 };
    await applyTopics(settings(), { prefix: 'spec.' }, [{ topic, ...spec }]);
    const problems: string[] = [];
    const strategy = new KafkaConsumerStrategy({
      group: 'no-dlq',
      deferred: memoryDeferredMessages(),
      kafka: settings(),
      prefix: 'spec.',
      commitIntervalMs: 20,
      observe: { problem: (doing) => problems.push(doing) },
    });
    strategy.addHandler(topic, (() => Promise.resolve()) as never, true);
    strategy.listen(() => undefined);
    const message = { topic, key: 'a', headers: {} };
    await harness.publish([
      { ...message, value: 'not JSON' },
      { ...message, key: 'b', value: '2' },
    ]);
    await until(() => problems.includes('parking a message'), { timeoutMs });
    expect(await harness.committed('no-dlq', topic)).toBe(0);
    const deadLetters = { topic: deadLetterTopicOf(topic), ...spec };
    await applyTopics(settings(), { prefix: 'spec.' }, [deadLetters]);
    await until(async () => (await harness.committed('no-dlq', topic)) === 2, { timeoutMs });
    const [parked] = await readAll(settings(), `spec.${deadLetterTopicOf(topic)}`);
    expect(parked).toEqual({
      key: 'a',
      value: 'not JSON',
      headers: {
        [deadLetterHeaders.group]: 'no-dlq',
        [deadLetterHeaders.topic]: topic,
        [deadLetterHeaders.partition]: '0',
        [deadLetterHeaders.offset]: '0',
        [deadLetterHeaders.attempts]: '1',
        [deadLetterHeaders.error]: 'NonRetryable: the value is not JSON',
      },
    });
    await strategy.close();
  }, 60_000);

  it('a message that is too large for the dead letters is parked without its value, and holds up nothing', async () => {
    const { publish, consume, untilCommitted, topic, group } = bound(await create(1));
    // With the headers of a dead letter it has more than the broker accepts.
    const value = 'x'.repeat(1_048_400);
    await harness.publish([{ topic, key: 'a', value, headers: {} }]);
    await publish('b:1');
    const seen = consume(() => undefined);
    await untilCommitted(2);
    expect(seen.values).toEqual(['b:1']);
    const [parked] = await readAll(settings(), `spec.${deadLetterTopicOf(topic)}`);
    expect(parked).toMatchObject({
      ...{ key: 'a', value: '' },
      headers: {
        [deadLetterHeaders.offset]: '0',
        [deadLetterHeaders.valueBytes]: '1048400',
        [deadLetterHeaders.error]: 'NonRetryable: the value is not JSON',
      },
    });
    await harness.replay(group, topic);
    await publish('b:2');
    await untilCommitted(3);
    expect(await stage?.parked()).toHaveLength(1);
  }, 60_000);

  describe('the publisher', () => {
    const large = (topic: string, bytes: number): Message => ({
      topic,
      key: 'a',
      value: JSON.stringify('x'.repeat(bytes)),
      headers: {},
    });

    it('keeps the order of a key over any number of messages', async () => {
      const { topic } = await create(3);
      const publisher = kafkaPublisher(settings(), { prefix: 'spec.' });
      const numbers = Array.from({ length: 2_500 }, (_, n) => n);
      await publisher.publish(
        numbers.map((n) => ({ topic, key: 'payment-1', value: `${n}`, headers: { n: `${n}` } })),
      );
      await publisher.close();
      const seen: unknown[] = [];
      const consumer = harness.createConsumer({ group: 'order' });
      consumer.addHandler(
        topic,
        ((value: unknown) => Promise.resolve(void seen.push(value))) as never,
        true,
      );
      consumer.listen(() => undefined);
      await until(() => seen.length >= numbers.length, { timeoutMs });
      await consumer.close();
      expect(seen).toEqual(numbers);
    });

    it('sends more at once than the broker accepts in one batch', async () => {
      const { topic } = await create(1);
      const publisher = kafkaPublisher(settings(), { prefix: 'spec.' });
      await publisher.publish(Array.from({ length: 8 }, () => large(topic, 400_000)));
      expect(await readAll(settings(), `spec.${topic}`)).toHaveLength(8);
      await publisher.close();
    });

    it('reports that a message is too large, and publishes the next one', async () => {
      const { topic } = await create(1);
      const publisher = kafkaPublisher(settings(), { prefix: 'spec.' });
      await expect(publisher.publish([large(topic, 2_000_000)])).rejects.toThrow(MessageRefused);
      await publisher.publish([large(topic, 10)]);
      expect(await readAll(settings(), `spec.${topic}`)).toHaveLength(1);
      await publisher.close();
    });

    it('names the one message that is too large among many, after publishing all before it', async () => {
      const { topic } = await create(1);
      const publisher = kafkaPublisher(settings(), { prefix: 'spec.' });
      const small = Array.from({ length: 9 }, () => large(topic, 10));
      const refused = large(topic, 2_000_000);
      const error: unknown = await publisher
        .publish([...small, refused, large(topic, 10)])
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(MessageRefused);
      expect((error as MessageRefused).refused).toBe(refused);
      expect((error as MessageRefused).message).toContain('MESSAGE_TOO_LARGE');
      expect(await readAll(settings(), `spec.${topic}`)).toHaveLength(small.length);
      await publisher.close();
    });
  });

  it('missing topics are created, existing ones do not change, and differences are reported', async () => {
    const topic = `applied-${process.hrtime.bigint()}`;
    const apply = (partitions: number, retentionMs: number) =>
      applyTopics(settings(), { prefix: 'spec.' }, [{ topic, partitions, retentionMs }]);
    const name = `spec.${topic}`;
    expect(await apply(2, 1_000_000)).toEqual([
      { topic: name, outcome: 'created', differences: [], isAtRisk: false },
    ]);
    expect(await apply(2, 1_000_000)).toEqual([
      { topic: name, outcome: 'unchanged', differences: [], isAtRisk: false },
    ]);
    expect(await apply(3, 2_000_000)).toEqual([
      {
        topic: name,
        outcome: 'differs',
        differences: [
          'partitions: is 2, should be 3',
          'retention.ms: is 1000000, should be 2000000',
        ],
        isAtRisk: false,
      },
    ]);
    expect(await apply(2, 1_000_000)).toMatchObject([{ outcome: 'unchanged' }]);
  });
});

/** The stage's methods as functions. */
function bound(stage: Stage) {
  return {
    topic: stage.topic,
    group: stage.group,
    publish: stage.publish.bind(stage),
    consume: stage.consume.bind(stage),
    untilCommitted: stage.untilCommitted.bind(stage),
  };
}
