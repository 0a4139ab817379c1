/**
 * The only place that chooses adapters for ports, from the configuration. PlatformModule uses it for the
 * apps, and the command line uses it directly. Creating an adapter does no I/O: its first use connects.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type EventStore, postgresEventStore, sharedLog, timeLimited } from '@pis/event-store';
import type { EventStoreDbEventStoreOptions } from '@pis/event-store/eventstoredb';
import {
  createKeyring,
  keyBytes,
  MasterKeys,
  pgDataKeyTable,
  type StoredKeyring,
} from '@pis/keyring';
import type { KafkaSettings } from '@pis/messaging';
import type pg from 'pg';
import { ConfigurationError } from './config.js';
import type {
  BrokerConfig,
  KeyringConfig,
  ProcessConfig,
  StorageConfig,
  WebhooksConfig,
} from './environment.js';

type OpenEventStoreDb = (options: EventStoreDbEventStoreOptions) => EventStore;

/** Loaded when they are used: each client costs a process 100 ms at its start. */
const eventStoreDbClients = {
  eventstore: async () => (await import('@pis/event-store/eventstoredb')).eventStoreDbEventStore,
  kurrent: async () => (await import('@pis/event-store/kurrent')).kurrentEventStore,
} as const satisfies Record<StorageConfig['EVENTSTOREDB_CLIENT'], () => Promise<OpenEventStoreDb>>;

export async function createEventStore(
  config: StorageConfig,
  pool: pg.Pool,
  databaseUrl: string,
): Promise<EventStore> {
  if (config.PIS_EVENT_STORE === 'postgres')
    return forProcess(postgresEventStore({ pool, listenConnectionString: databaseUrl }));
  if (config.EVENTSTOREDB_URL === undefined)
    throw new ConfigurationError([
      'EVENTSTOREDB_URL: required when PIS_EVENT_STORE is eventstoredb',
    ]);
  const open = await eventStoreDbClients[config.EVENTSTOREDB_CLIENT]();
  try {
    return forProcess(
      open({
        connectionString: config.EVENTSTOREDB_URL,
        namespace: config.EVENTSTOREDB_NAMESPACE,
      }),
    );
  } catch (error) {
    // The URL names a file that cannot be read.
    throw new ConfigurationError([`EVENTSTOREDB_URL: ${(error as Error).message}`]);
  }
}

/** Consumers share one reading of the log. Requests have a time limit. */
function forProcess(store: EventStore): EventStore {
  return timeLimited(sharedLog(store));
}

type MasterKeyConfig = KeyringConfig & Pick<ProcessConfig, 'PIS_DATA_DIR' | 'PIS_ENVIRONMENT'>;

/**
 * The keyring of a process; it makes MACs once the stores were checked (keyring-check.ts).
 * @param passGate waits until then, so that no key is written to another system's database
 */
export function createKeyringFrom(
  config: MasterKeyConfig,
  pool: pg.Pool,
  passGate?: () => Promise<void>,
): StoredKeyring {
  const masterKeys = new MasterKeys(masterKeysFrom(config));
  return createKeyring({ masterKeys, table: pgDataKeyTable(pool, passGate) });
}

/**
 * The master keys: PIS_MASTER_KEY, or in the sandbox a file in PIS_DATA_DIR that the first process creates.
 * Losing them makes everything that is sealed unreadable.
 */
function masterKeysFrom(config: MasterKeyConfig): readonly Buffer[] {
  const given = config.PIS_MASTER_KEY;
  if (given !== undefined) return [Buffer.from(given, 'base64')];
  if (config.PIS_ENVIRONMENT === 'production')
    throw new ConfigurationError(['PIS_MASTER_KEY: required when PIS_ENVIRONMENT is production']);
  const file = path.join(config.PIS_DATA_DIR, 'master-key');
  createOnce(file, randomBytes(keyBytes).toString('base64'));
  const masterKey = Buffer.from(readFileSync(file, 'utf8'), 'base64');
  if (masterKey.length !== keyBytes)
    throw new ConfigurationError([`PIS_DATA_DIR: ${file} does not hold a master key`]);
  return [masterKey];
}

/** If several processes start at once, one creates the whole file, and all read the same key. */
function createOnce(file: string, text: string): void {
  if (existsSync(file)) return;
  mkdirSync(path.dirname(file), { recursive: true });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, text, { mode: 0o600 });
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** @throws ConfigurationError without brokers, or when a CA file cannot be read */
export function kafkaSettings(config: BrokerConfig, clientId: string): KafkaSettings {
  if (config.KAFKA_BROKERS === undefined)
    throw new ConfigurationError(['KAFKA_BROKERS: required when PIS_BROKER is kafka']);
  return {
    brokers: config.KAFKA_BROKERS,
    clientId,
    ...(config.KAFKA_SSL ? { ssl: tlsOf(config.KAFKA_SSL_CA_FILE) } : {}),
    ...(config.KAFKA_SASL_MECHANISM === undefined
      ? {}
      : {
          sasl: {
            mechanism: config.KAFKA_SASL_MECHANISM,
            username: config.KAFKA_SASL_USERNAME ?? '',
            password: config.KAFKA_SASL_PASSWORD ?? '',
          },
        }),
  };
}

function tlsOf(caFile: string | undefined): true | { ca: string[] } {
  return caFile === undefined ? true : { ca: [readCertificate('KAFKA_SSL_CA_FILE', caFile)] };
}

/** The certificates trusted for webhook receivers in addition to the system's. @throws ConfigurationError */
export function webhookReceiverCa({
  PIS_WEBHOOK_CA_FILE: file,
}: Pick<WebhooksConfig, 'PIS_WEBHOOK_CA_FILE'>): { extraCaPem?: string } {
  return file === undefined ? {} : { extraCaPem: readCertificate('PIS_WEBHOOK_CA_FILE', file) };
}

function readCertificate(variable: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigurationError([`${variable}: ${(error as Error).message}`]);
  }
}
