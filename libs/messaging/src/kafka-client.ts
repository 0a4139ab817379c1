import type { ConnectionOptions } from 'node:tls';
// The default import: Node cannot see the names of all errors among the exports of the CommonJS package.
import kafkajs, { Kafka, logLevel, type IHeaders, type SASLOptions } from 'kafkajs';

export interface KafkaSettings {
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly ssl?: boolean | ConnectionOptions;
  readonly sasl?: SASLOptions;
}

/**
 * A kafkajs client whose own retries are few: they keep nothing but our own loops from noticing that
 * the broker is away. It logs nothing; what matters reaches the observer or is thrown.
 */
export function kafkaClient(settings: KafkaSettings): Kafka {
  return new Kafka({
    clientId: settings.clientId,
    brokers: [...settings.brokers],
    ...(settings.ssl === undefined ? {} : { ssl: settings.ssl }),
    ...(settings.sasl === undefined ? {} : { sasl: settings.sasl }),
    connectionTimeout: connectionTimeoutMs,
    authenticationTimeout: connectionTimeoutMs,
    requestTimeout: requestTimeoutMs,
    retry: { retries: 3, initialRetryTime: 100, maxRetryTime: 1_000 },
    logLevel: logLevel.NOTHING,
  });
}

/** Whether kafkajs threw it: the broker is away, or it refuses. Its error for several topics is of no other class of its own. */
export function isBrokerError(error: unknown): boolean {
  return error instanceof kafkajs.KafkaJSError || error instanceof kafkajs.KafkaJSAggregateError;
}

const connectionTimeoutMs = 3_000;
const requestTimeoutMs = 15_000;

/** Headers as text; of a repeated header the last one counts. */
export function textHeaders(headers: IHeaders | undefined): Record<string, string> {
  const text: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers ?? {})) {
    const last = Array.isArray(value) ? value.at(-1) : value;
    if (last !== undefined) text[name] = last.toString();
  }
  return text;
}

/** Kafka's names for what went wrong (`MESSAGE_TOO_LARGE`), of the error and of what caused it. */
export function errorTypes(error: unknown): string[] {
  const types: string[] = [];
  let link = error;
  for (let depth = 0; depth < 5 && typeof link === 'object' && link !== null; depth += 1) {
    const type: unknown = Reflect.get(link, 'type');
    if (typeof type === 'string') types.push(type);
    link = Reflect.get(link, 'cause');
  }
  return types;
}
