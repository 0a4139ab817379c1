/**
 * The only place that chooses adapters for ports, from the configuration. PlatformModule uses it for the
 * apps, and the command line uses it directly. Creating an adapter does no I/O: its first use connects.
 */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  type EventStore,
  postgresEventStore,
  sealedStore,
  type Sealing,
  sharedLog,
  timeLimited,
} from '@pis/event-store';
import type { EventStoreDbEventStoreOptions } from '@pis/event-store/eventstoredb';
import { createKeyring, pgDataKeyTable, type StoredKeyring } from '@pis/keyring';
import type { KafkaSettings } from '@pis/messaging';
import type { Listener } from '@pis/postgres';
import type pg from 'pg';
import { ConfigurationError } from './config.js';
import type { BrokerConfig, StorageConfig, WebhooksConfig } from './environment.js';
import { type MasterKeyConfig, masterKeysFrom } from './master-keys-from.js';

type OpenEventStoreDb = (options: EventStoreDbEventStoreOptions) => EventStore;

/** Loaded when they are used: each client costs a process 100 ms at its start. */
const eventStoreDbClients = {
  eventstore: async () => (await import('@pis/event-store/eventstoredb')).eventStoreDbEventStore,
  kurrent: async () => (await import('@pis/event-store/kurrent')).kurrentEventStore,
} as const satisfies Record<StorageConfig['EVENTSTOREDB_CLIENT'], () => Promise<OpenEventStoreDb>>;

/** @param configured opens the configured store */
export type OpenStore = (configured: () => Promise<EventStore>) => Promise<EventStore>;

/**
 * The event store of a process. Sealed data is opened once for all consumers, which share one reading of the
 * log. Requests have a time limit.
 * @param listening the listener of the process, or the URL of the database for one of the store
 */
export async function createEventStore(
  config: StorageConfig,
  pool: pg.Pool,
  listening: Listener | string,
  sealing: Sealing,
  openStore: OpenStore = (configured) => configured(),
): Promise<EventStore> {
  const store = await openStore(() => createAdapter(config, pool, listening));
  return timeLimited(sharedLog(sealedStore(store, sealing)));
}

/** Where sessions keep locks and notifications: not behind a pooler. */
export function directUrlOf(
  { DATABASE_DIRECT_URL }: Pick<StorageConfig, 'DATABASE_DIRECT_URL'>,
  databaseUrl: string,
): string {
  return DATABASE_DIRECT_URL ?? databaseUrl;
}

/** For a process that may never need a key. */
export function sealingOnUse(create: () => Promise<Sealing>): Sealing {
  let created: Promise<Sealing> | null = null;
  const use = () => {
    created ??= create().catch((error: unknown) => {
      created = null;
      throw error;
    });
    return created;
  };
  return {
    seal: async (...args) => (await use()).seal(...args),
    openAll: async (...args) => (await use()).openAll(...args),
    destroyedOf: async (...args) => (await use()).destroyedOf(...args),
  };
}

async function createAdapter(
  config: StorageConfig,
  pool: pg.Pool,
  listening: Listener | string,
): Promise<EventStore> {
  if (config.PIS_EVENT_STORE === 'postgres')
    return postgresEventStore(
      typeof listening === 'string'
        ? { pool, listenConnectionString: directUrlOf(config, listening) }
        : { pool, listener: listening },
    );
  if (config.EVENTSTOREDB_URL === undefined)
    throw new ConfigurationError([
      'EVENTSTOREDB_URL: required when PIS_EVENT_STORE is eventstoredb',
    ]);
  const open = await eventStoreDbClients[config.EVENTSTOREDB_CLIENT]();
  try {
    return open({
      connectionString: config.EVENTSTOREDB_URL,
      namespace: config.EVENTSTOREDB_NAMESPACE,
    });
  } catch (error) {
    // The URL names a file that cannot be read.
    throw new ConfigurationError([`EVENTSTOREDB_URL: ${(error as Error).message}`]);
  }
}

/**
 * The keyring of a process; it makes MACs once the stores were checked (keyring-check.ts).
 * @param passGate waits until then, so that no key is written to another system's database
 */
export function createKeyringFrom(
  config: MasterKeyConfig,
  pool: pg.Pool,
  passGate?: () => Promise<void>,
): StoredKeyring {
  const masterKeys = masterKeysFrom(config);
  return createKeyring({ masterKeys, table: pgDataKeyTable(pool, passGate) });
}

/** @throws ConfigurationError without brokers, when a certificate file cannot be read, or is given without TLS */
export function kafkaSettings(config: BrokerConfig, clientId: string): KafkaSettings {
  if (config.KAFKA_BROKERS === undefined)
    throw new ConfigurationError(['KAFKA_BROKERS: required when PIS_BROKER is kafka']);
  return {
    brokers: config.KAFKA_BROKERS,
    clientId,
    client: config.KAFKA_CLIENT,
    ...tlsOf(config),
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

function tlsOf(config: BrokerConfig): Pick<KafkaSettings, 'ssl'> {
  const files = {
    ca: 'KAFKA_SSL_CA_FILE',
    cert: 'KAFKA_SSL_CERT_FILE',
    key: 'KAFKA_SSL_KEY_FILE',
  } as const;
  const given = Object.entries(files).flatMap(([name, variable]) => {
    const file = config[variable];
    return file === undefined ? [] : [{ name, variable, file }];
  });
  if (!config.KAFKA_SSL) {
    const [first] = given;
    if (first === undefined) return {};
    throw new ConfigurationError([`KAFKA_SSL: must be true when ${first.variable} is set`]);
  }
  if (given.length === 0) return { ssl: true };
  const ssl: Record<string, string> = {};
  for (const { name, variable, file } of given)
    Object.defineProperty(ssl, name, { get: renewablePem(variable, file), enumerable: true });
  return { ssl };
}

/**
 * The file as it is at each connection: certificates are renewed while processes run, and one of the start expires. While
 * a file is being replaced, what was read last counts.
 */
function renewablePem(variable: string, file: string): () => string {
  let last = readPem(variable, file);
  return () => {
    try {
      last = readPem(variable, file);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
    }
    return last;
  };
}

/** The certificates trusted for webhook receivers in addition to the system's. @throws ConfigurationError */
export function webhookReceiverCa({
  PIS_WEBHOOK_CA_FILE: file,
}: Pick<WebhooksConfig, 'PIS_WEBHOOK_CA_FILE'>): { extraCaPem?: string } {
  if (file === undefined) return {};
  const extraCaPem = readPem('PIS_WEBHOOK_CA_FILE', file);
  if (!holdsCertificates(extraCaPem))
    throw new ConfigurationError(['PIS_WEBHOOK_CA_FILE: must hold whole certificates in PEM']);
  return { extraCaPem };
}

/** TLS itself skips without a word what it cannot read. */
function holdsCertificates(pem: string): boolean {
  const certificates = pem.match(
    /-----BEGIN ([A-Z0-9 ]*CERTIFICATE)-----[^-]*(-----END \1-----)?/g,
  );
  try {
    for (const certificate of certificates ?? []) new X509Certificate(certificate);
    return certificates !== null;
  } catch {
    return false;
  }
}

function readPem(variable: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigurationError([`${variable}: ${(error as Error).message}`]);
  }
}
