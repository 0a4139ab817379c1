/** Who may connect to the brokers, and how a client says that it may not. On a broker with TLS, SASL and ACLs. */
import { randomUUID } from 'node:crypto';
import {
  makeCertificate,
  type SecureKafka,
  startSecureKafka,
  until,
} from '@pis/local-servers/testing';
import { applyAcls } from './kafka-acls.js';
import { applyTopics } from './kafka-admin.js';
import { kafkaClient, kafkaClientNames, type KafkaSettings } from './kafka-client.js';
import { kafkaPublisher } from './kafka.publisher.js';
import { KafkaConsumerStrategy } from './kafka.server.js';
import { memoryDeferredMessages } from './testing/memory.js';

const withBroker = process.env['PIS_TEST_KAFKA_BROKERS'] === undefined ? describe.skip : describe;
const timeoutMs = 90_000;
const mechanisms = ['plain', 'scram-sha-256', 'scram-sha-512'] as const;

withBroker('a broker that asks who a client is (skipped without a broker)', () => {
  let server: SecureKafka;
  let otherCaPem: string;

  beforeAll(async () => {
    server = await startSecureKafka({
      users: { alice: 'alice-secret', bob: 'bob-secret' },
      certificateUser: 'carol',
    });
    otherCaPem = (await makeCertificate(['127.0.0.1'])).caPem;
  }, 120_000);
  afterAll(() => server.stop());

  const administrator = (client: (typeof kafkaClientNames)[number]): KafkaSettings => ({
    ...{ brokers: server.kafka.brokers, clientId: 'administrator', client },
  });

  /** A topic and a group that the user alone may use. */
  async function placeOf(user: string, client: (typeof kafkaClientNames)[number]) {
    const topic = `topic-${randomUUID()}`;
    const settings = administrator(client);
    await applyTopics(settings, { prefix: '' }, [{ topic, partitions: 2, retentionMs: 3_600_000 }]);
    const principal = `User:${user}`;
    const acls = [
      { principal, resource: 'topic', name: topic, operation: 'write' },
      { principal, resource: 'topic', name: topic, operation: 'read' },
      { principal, resource: 'group', name: topic, operation: 'read' },
    ] as const;
    await applyAcls(settings, acls, { dryRun: false });
    return topic;
  }

  /** Publishes and consumes one message. */
  async function use(topic: string, kafka: KafkaSettings): Promise<void> {
    const publisher = kafkaPublisher(kafka, { prefix: '' });
    await publisher.publish([{ topic, key: 'a', value: '"1"', headers: {} }]);
    await publisher.close();
    const seen: unknown[] = [];
    const strategy = new KafkaConsumerStrategy({
      ...{ kafka, group: topic, prefix: '', deferred: memoryDeferredMessages() },
    });
    strategy.addHandler(
      topic,
      ((value: unknown) => Promise.resolve(void seen.push(value))) as never,
      true,
    );
    strategy.listen(() => undefined);
    await until(() => seen.length > 0, {
      timeoutMs: timeoutMs / 2,
      what: strategy.consumerStatus.error ?? '',
    });
    await strategy.close();
    expect(seen).toEqual(['1']);
  }

  /** What a consumer with these settings reports. */
  async function complaintOf(kafka: KafkaSettings): Promise<string> {
    const problems: unknown[] = [];
    const strategy = new KafkaConsumerStrategy({
      ...{ kafka, group: 'refused', prefix: '', deferred: memoryDeferredMessages() },
      observe: { problem: (_doing, error) => problems.push(error) },
    });
    strategy.addHandler('refused', (() => Promise.resolve()) as never, true);
    strategy.listen(() => undefined);
    await until(() => problems.length > 0, { timeoutMs: timeoutMs / 2 });
    const { connected, error } = strategy.consumerStatus;
    await strategy.close();
    expect(connected).toBe(false);
    return error ?? '';
  }

  describe.each(kafkaClientNames)('on %s', (client) => {
    const sasl = (mechanism: (typeof mechanisms)[number], password: string): KafkaSettings => ({
      ...{ brokers: [server.saslBroker], clientId: 'alice', client },
      ssl: { ca: server.caPem },
      sasl: { mechanism, username: 'alice', password },
    });
    const mtls = (more: object): KafkaSettings => ({
      ...{ brokers: [server.mtlsBroker], clientId: 'carol', client },
      ssl: { ca: server.caPem, ...more },
    });

    it.each(mechanisms)(
      'a user with a password by %s publishes and consumes over TLS',
      async (mechanism) => {
        await use(await placeOf('alice', client), sasl(mechanism, 'alice-secret'));
      },
      timeoutMs,
    );

    it(
      'a client with a certificate publishes and consumes',
      async () => {
        await use(await placeOf('carol', client), mtls(server.client));
      },
      timeoutMs,
    );

    it.each(mechanisms)(
      'a wrong password by %s is said, by a command at once and by a consumer at each try',
      async (mechanism) => {
        const wrong = sasl(mechanism, 'not-the-secret');
        const publisher = kafkaPublisher(wrong, { prefix: '' });
        await expect(publisher.ping()).rejects.toThrow(/authentication failed/i);
        await publisher.close();
        const complaint = await complaintOf(wrong);
        expect(complaint).toMatch(/authentication failed/i);
        expect(complaint).not.toContain('not-the-secret');
      },
      timeoutMs,
    );

    it(
      'a broker of an authority that is not trusted is said',
      async () => {
        const wary = { ...sasl('plain', 'alice-secret'), ssl: { ca: otherCaPem } };
        const publisher = kafkaPublisher(wary, { prefix: '' });
        await expect(publisher.ping()).rejects.toThrow(/certificate|self-signed|signature/i);
        await publisher.close();
        expect(await complaintOf(wary)).toMatch(/certificate|self-signed|signature/i);
      },
      timeoutMs,
    );

    it(
      'a missing client certificate is said',
      async () => {
        const complaint = await complaintOf(mtls({}));
        expect(complaint).toMatch(/certificate|alert|closed/i);
      },
      timeoutMs,
    );

    it(
      'a topic that the ACLs do not allow is said, and nothing is published or read',
      async () => {
        const topic = await placeOf('bob', client);
        const alice = sasl('scram-sha-512', 'alice-secret');
        const publisher = kafkaPublisher(alice, { prefix: '' });
        const message = { topic, key: 'a', value: '"1"', headers: {} };
        await expect(publisher.publish([message])).rejects.toThrow(/TOPIC_AUTHORIZATION_FAILED/);
        await publisher.close();
        const admin = (await kafkaClient(administrator(client))).admin();
        const ends = await admin.offsets(topic);
        await admin.close();
        expect(ends.map(({ high }) => high)).toEqual([0n, 0n]);
      },
      timeoutMs,
    );
  });
});
