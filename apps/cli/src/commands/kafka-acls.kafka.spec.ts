/** The ACLs of the apps, on a broker that checks them: each app can do its work, and nothing else. */
import { allTopicSpecs, deadLetterTopicOf, topics } from '@pis/contracts';
import { type SecureKafka, startSecureKafka, until } from '@pis/local-servers/testing';
import { KafkaConsumerStrategy } from '@pis/messaging';
import {
  applyTopics,
  kafkaProgress,
  kafkaPublisher,
  type KafkaSettings,
  replayDeadLetters,
} from '@pis/messaging/clients';
import { memoryDeferredMessages } from '@pis/messaging/testing';
import { appliedAcls } from './kafka.js';

const withBroker = process.env['PIS_TEST_KAFKA_BROKERS'] === undefined ? describe.skip : describe;
const timeoutMs = 120_000;
const prefix = 'acls.';
const users = {
  'pis-event-relay': 'relay-secret',
  'pis-rail-executor': 'executor-secret',
  'pis-webhook-dispatcher': 'dispatcher-secret',
  operator: 'operator-secret',
} as const;
type User = keyof typeof users;

withBroker('the ACLs of the apps (skipped without a broker)', () => {
  let server: SecureKafka;
  const administrator = (): KafkaSettings => ({
    ...{ brokers: server.kafka.brokers, clientId: 'administrator' },
  });
  const as = (username: User): KafkaSettings => ({
    ...{ brokers: [server.saslBroker], clientId: username, ssl: { ca: server.caPem } },
    sasl: { mechanism: 'scram-sha-512', username, password: users[username] },
  });
  const publish = async (user: User, topic: string, key: string) => {
    const publisher = kafkaPublisher(as(user), { prefix });
    try {
      await publisher.publish([{ topic, key, value: `"${key}"`, headers: {} }]);
    } finally {
      await publisher.close();
    }
  };
  /** Handles until `isDone`; 'broken' cannot be handled. */
  const consume = async (
    user: User,
    group: string,
    topic: string,
    isDone: (seen: readonly unknown[], error: string | null, parked: boolean) => boolean,
  ) => {
    const seen: unknown[] = [];
    let isParked = false;
    const strategy = new KafkaConsumerStrategy({
      ...{ group, prefix, kafka: as(user), deferred: memoryDeferredMessages() },
      attemptsMax: 1,
      observe: { parked: () => (isParked = true) },
    });
    const handle = (value: unknown) => {
      seen.push(value);
      return value === 'broken' ? Promise.reject(new Error('broken')) : Promise.resolve();
    };
    strategy.addHandler(topic, handle as never, true);
    strategy.listen(() => undefined);
    try {
      const done = () => isDone(seen, strategy.consumerStatus.error, isParked);
      await until(done, { timeoutMs: timeoutMs / 2 });
    } finally {
      await strategy.close();
    }
    return seen;
  };

  beforeAll(async () => {
    server = await startSecureKafka({ users, certificateUser: 'nobody' });
    await applyTopics(administrator(), { prefix }, allTopicSpecs());
  }, 120_000);
  afterAll(() => server.stop());

  it(
    'are shown by a dry run, made once, and what else is allowed is reported and left',
    async () => {
      const apply = (dryRun: boolean) =>
        appliedAcls(administrator(), prefix, { dryRun, principal: { cli: 'User:operator' } });
      const outcomes = async (dryRun: boolean) =>
        new Set((await apply(dryRun)).map(({ outcome }) => outcome));
      expect(await outcomes(true)).toEqual(new Set(['missing']));
      expect(await outcomes(true)).toEqual(new Set(['missing']));
      expect(await outcomes(false)).toEqual(new Set(['created']));
      expect(await outcomes(false)).toEqual(new Set(['unchanged']));
      const renamed = await appliedAcls(administrator(), prefix, { dryRun: true });
      const others = renamed.filter(({ outcome }) => outcome === 'undeclared');
      expect(new Set(others.map(({ principal }) => principal))).toEqual(new Set(['User:operator']));
      expect(await outcomes(false)).toEqual(new Set(['unchanged']));
    },
    timeoutMs,
  );

  it(
    'let the relay publish to all topics and follow the groups, and not read',
    async () => {
      for (const topic of Object.values(topics)) await publish('pis-event-relay', topic, 'first');
      const progress = kafkaProgress(as('pis-event-relay'), { prefix, topics: [topics.payments] });
      expect(await progress.hasReached('rail-executor', await progress.ends())).toBe(false);
      await progress.close();
      await consume('pis-event-relay', 'rail-executor', topics.payments, (_seen, error) =>
        /AUTHORIZATION/.test(error ?? ''),
      );
    },
    timeoutMs,
  );

  it(
    'let an executor handle payments and park what fails, and an operator publish it again',
    async () => {
      await publish('pis-event-relay', topics.payments, 'broken');
      const seen = await consume(
        ...(['pis-rail-executor', 'rail-executor', topics.payments] as const),
        (values, _error, parked) => values.includes('first') && parked,
      );
      expect(seen).toEqual(expect.arrayContaining(['first', 'broken']));
      const { replayed } = await replayDeadLetters(as('operator'), {
        ...{ prefix, group: 'rail-executor', topics: [topics.payments] },
      });
      expect(replayed).toBe(1);
    },
    timeoutMs,
  );

  it.each([
    ['pis-rail-executor', topics.payments],
    ['pis-rail-executor', topics.directory],
    ['pis-rail-executor', deadLetterTopicOf(topics.statements)],
    ['pis-webhook-dispatcher', topics.payments],
    ['pis-event-relay', deadLetterTopicOf(topics.payments)],
  ] as const)(
    'do not let %s publish to %s',
    async (user, topic) => {
      await expect(publish(user, topic, 'forged')).rejects.toThrow(/AUTHORIZATION_FAILED/);
    },
    timeoutMs,
  );

  it.each([
    ['pis-rail-executor', 'rail-executor', topics.statements],
    ['pis-rail-executor', 'webhook-dispatcher', topics.payments],
    ['pis-webhook-dispatcher', 'webhook-dispatcher', topics.directory],
    ['pis-webhook-dispatcher', 'rail-executor', topics.payments],
  ] as const)(
    'do not let %s read as the group %s from %s',
    async (user, group, topic) => {
      const seen = await consume(user, group, topic, (_seen, error) =>
        // kafkajs does not say why it finds none.
        /AUTHORIZATION|group coordinator/.test(error ?? ''),
      );
      expect(seen).toEqual([]);
    },
    timeoutMs,
  );
});
