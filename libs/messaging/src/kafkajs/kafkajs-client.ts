/** KafkaClient on kafkajs. It logs nothing; what matters is thrown or reaches the events. */
// The default import: Node cannot see the names of all values among the exports of the CommonJS package.
import kafkajs, { Kafka, logLevel } from 'kafkajs';
import { asFailure } from '../kafka-failure.js';
import { kafkaLimits, type KafkaClient, type KafkaSettings } from '../kafka-port.js';
import { kafkaJsAdmin } from './kafkajs-admin.js';
import { KafkaJsMember } from './kafkajs-member.js';
import { openProducer } from './kafkajs-producer.js';

export function kafkaJsClient(settings: KafkaSettings): KafkaClient {
  const kafka = open(settings);
  return {
    admin: () => kafkaJsAdmin(kafka),
    producer: () => asFailure(() => openProducer(kafka)),
    member: (options, events) => new KafkaJsMember(kafka, options, events),
  };
}

function open(settings: KafkaSettings): Kafka {
  const { connectionTimeoutMs } = kafkaLimits;
  return new Kafka({
    clientId: settings.clientId,
    brokers: [...settings.brokers],
    ...(settings.ssl === undefined ? {} : { ssl: settings.ssl }),
    ...(settings.sasl === undefined ? {} : { sasl: settings.sasl as kafkajs.SASLOptions }),
    connectionTimeout: connectionTimeoutMs,
    authenticationTimeout: connectionTimeoutMs,
    requestTimeout: settings.requestTimeoutMs ?? kafkaLimits.requestTimeoutMs,
    // Few: its own retries only keep our loops from noticing that the broker is unavailable.
    retry: { retries: 3, initialRetryTime: 100, maxRetryTime: 1_000 },
    logLevel: logLevel.NOTHING,
  });
}
