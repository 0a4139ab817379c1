/** KafkaClient on @platformatic/kafka. */
import { isIP } from 'node:net';
import {
  type BaseOptions,
  compatibilityPartitioner,
  type MessageToProduce,
  Producer,
} from '@platformatic/kafka';
import { asFailure } from '../kafka-failure.js';
import {
  kafkaLimits,
  type KafkaClient,
  type KafkaProducer,
  type KafkaSettings,
  type OutgoingMessage,
} from '../kafka-port.js';
import { platformaticAdmin } from './platformatic-admin.js';
import { PlatformaticMember } from './platformatic-member.js';

export function platformaticClient(settings: KafkaSettings): KafkaClient {
  return {
    admin: () => platformaticAdmin(baseOptions(settings)),
    producer: () => asFailure(() => openProducer(settings)),
    member: (options, events) =>
      new PlatformaticMember(() => baseOptions(settings), options, events),
  };
}

/** Counts the connections' owners, so that each asks another of the given brokers first. */
let opened = 0;

/**
 * The library asks the first of the brokers for the cluster's state, and waits for it even if it hangs. So each
 * new client begins with the next one.
 */
function baseOptions(settings: KafkaSettings): BaseOptions {
  const { brokers, clientId, ssl, sasl } = settings;
  const first = opened % brokers.length;
  opened += 1;
  return {
    clientId,
    bootstrapBrokers: [...brokers.slice(first), ...brokers.slice(0, first)],
    connectTimeout: kafkaLimits.connectionTimeoutMs,
    requestTimeout: requestTimeoutOf(settings),
    // Few: its own retries only keep our loops from noticing that the broker is unavailable.
    retries: 3,
    retryDelay: 200,
    autocreateTopics: false,
    ...(ssl === undefined || ssl === false
      ? {}
      : // A load balancer may choose the broker by this name (SNI). RFC 6066 allows no IP address in it.
        { tls: ssl === true ? {} : ssl, tlsServerName: !brokers.some(hasIp) }),
    ...(sasl === undefined ? {} : { sasl: { ...sasl, mechanism: mechanisms[sasl.mechanism] } }),
  };
}

/** Whether a broker, `host:port`, is named by an IP address: `127.0.0.1:9092` or `[::1]:9092`. */
function hasIp(broker: string): boolean {
  return isIP(broker.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')) !== 0;
}

const mechanisms = {
  plain: 'PLAIN',
  'scram-sha-256': 'SCRAM-SHA-256',
  'scram-sha-512': 'SCRAM-SHA-512',
} as const;

async function openProducer(settings: KafkaSettings): Promise<KafkaProducer> {
  const producer = new Producer({
    ...baseOptions(settings),
    timeout: requestTimeoutOf(settings) * acknowledgePart,
    // As kafkajs and Java's clients place keys; the library's default places them elsewhere.
    partitioner: compatibilityPartitioner,
  });
  try {
    await producer.connectToBrokers();
  } catch (error) {
    await producer.close(true);
    throw error;
  }
  return {
    async send(messages) {
      await asFailure(() =>
        producer.send({ idempotent: true, acks: -1, messages: messages.map(toProduce) }),
      );
    },
    close: () => asFailure(() => producer.close(true)),
  };
}

function requestTimeoutOf({ requestTimeoutMs }: KafkaSettings): number {
  return requestTimeoutMs ?? kafkaLimits.requestTimeoutMs;
}

/** How long the replicas may take, of what the whole request may. */
const acknowledgePart = 2 / 3;

function toProduce({ topic, key, value, headers }: OutgoingMessage): MessageToProduce {
  return {
    topic,
    key: Buffer.from(key),
    value: Buffer.from(value),
    headers: new Map(
      Object.entries(headers).map(([name, text]) => [Buffer.from(name), Buffer.from(text)]),
    ),
  };
}
