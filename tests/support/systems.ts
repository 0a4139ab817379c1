/** The setups of the whole system. A scenario does not depend on the setup. */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { connectionOf } from '@pis/local-servers';
import { createTestDatabase } from '@pis/local-servers/testing';
import { copyEmbeddedPostgres } from './embedded-postgres.js';
import { pisJson, type RunningProcess, startProcess } from './process.js';
import { appsOfTheReadme, banksFileOfTheReadme } from './readme.js';

export interface Provisioned {
  readonly organizationId: string;
  readonly originatorId: string;
  readonly apiKey: string;
}

/** With an organization, one of its originators and a key. */
export interface System extends Provisioned {
  readonly apiUrl: string;
  /** Where the dashboard and the pages of payment links are served. */
  readonly dashboardUrl: string;
  readonly pagesUrl: string;
  /** The PostgreSQL that holds read models, deliveries and checkpoints. */
  readonly databaseUrl: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Of every process, where it serves its health and metrics. */
  readonly urls: readonly string[];
  /** Where the process of an app answers. */
  urlOf(app: string): string;
  /** The process of the simulated bank, for requests that are none. Absent where it has none of its own. */
  readonly bankUrl?: string;
  /** Everything any process of the system logged. */
  logs(): string;
  /** What all processes printed on stdout. */
  stdout(): string;
  stop(): Promise<void>;
}

export type StartSystem = (settings: Readonly<Record<string, string>>) => Promise<System>;

/**
 * `npm start` alone: one process, embedded PostgreSQL. A data directory that the settings name stays, and the process
 * makes everything in it.
 */
export const allInOne: StartSystem = async (settings) => {
  const own = settings['PIS_DATA_DIR'] === undefined;
  const dataDir = settings['PIS_DATA_DIR'] ?? mkdtempSync(path.join(os.tmpdir(), 'pis-scenario-'));
  if (own && settings['DATABASE_URL'] === undefined) copyEmbeddedPostgres(dataDir);
  const environment = { ...settings, PIS_DATA_DIR: dataDir };
  const running = await startProcess(null, environment);
  return {
    apiUrl: String(running.ready['apiUrl']),
    apiKey: String(running.ready['apiKey']),
    organizationId: String(running.ready['organizationId']),
    originatorId: [running.ready['originatorIds']].flat().map(String)[0] ?? '',
    dashboardUrl: String(running.ready['apiUrl']),
    pagesUrl: String(running.ready['apiUrl']),
    databaseUrl: connectionOf(path.join(dataDir, 'postgres'), 'pis') ?? '',
    environment,
    urls: [String(running.ready['apiUrl'])],
    urlOf: () => String(running.ready['apiUrl']),
    logs: () => running.stderr(),
    stdout: () => running.stdout(),
    stop: async () => {
      await running.stop();
      if (own) rmSync(dataDir, { recursive: true, force: true });
    },
  };
};

/** `npm start` with Kafka and a separate event store: still one process. */
export const allInOneOnServers: StartSystem = (settings) =>
  onEventStoreDb(settings, (more) => allInOne({ ...settings, ...kafka(), ...more }));

/**
 * Each app as its own process, with Kafka and the PostgreSQL event store. The bank is reached over SFTP and
 * HTTPS.
 */
export const distributedOnPostgres: StartSystem = (settings) => distributed(settings, {});

/** Each app as its own process, with Kafka and EventStoreDB. */
export const distributedOnEventStoreDb: StartSystem = (settings) =>
  onEventStoreDb(settings, (more) => distributed(settings, more));

/** All in one on EventStoreDB through the successor of its client, without Kafka. */
export const allInOneOnKurrent: StartSystem = (settings) =>
  onEventStoreDb(settings, (more) => allInOne({ ...more, EVENTSTOREDB_CLIENT: 'kurrent' }));

/** The server that EVENTSTOREDB_URL names, or the stand-in. */
async function onEventStoreDb(
  settings: Readonly<Record<string, string>>,
  start: StartSystem,
): Promise<System> {
  const given = process.env['EVENTSTOREDB_URL'];
  // Most scenarios need neither gRPC nor a client of EventStoreDB.
  const { startEventStoreDbStandIn } = await import('@pis/event-store/testing');
  const standIn = given ? null : await startEventStoreDbStandIn();
  const system = await start({
    ...settings,
    PIS_EVENT_STORE: 'eventstoredb',
    EVENTSTOREDB_URL: given ?? standIn?.url ?? '',
    EVENTSTOREDB_CLIENT: process.env['EVENTSTOREDB_CLIENT'] ?? 'eventstore',
    // A separate namespace has its own streams and its own binding on a shared server.
    EVENTSTOREDB_NAMESPACE: `t${randomUUID().slice(0, 8)}`,
  });
  return {
    ...system,
    stop: async () => {
      await system.stop();
      await standIn?.stop();
    },
  };
}

/** The broker of the test run, with separate topics and groups. */
function kafka(): Record<string, string> {
  const brokers = process.env['PIS_TEST_KAFKA_BROKERS'];
  if (!brokers) throw new Error('PIS_TEST_KAFKA_BROKERS is not set: run through npm test');
  return {
    PIS_BROKER: 'kafka',
    KAFKA_BROKERS: brokers,
    KAFKA_PREFIX: `t${randomUUID().slice(0, 8)}.`,
  };
}

async function distributed(
  settings: Readonly<Record<string, string>>,
  eventStore: Readonly<Record<string, string>>,
): Promise<System> {
  const database = await createTestDatabase();
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'pis-distributed-'));
  const environment: Record<string, string> = {
    ...settings,
    ...eventStore,
    DATABASE_URL: database.url,
    ...kafka(),
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    // The simulated bank makes its keys and the banks file there.
    PIS_DATA_DIR: dataDir,
    PIS_BANKS_FILE: banksFileOfTheReadme(dataDir),
  };
  await pisJson(['migrate'], environment);
  await pisJson(['kafka', 'apply'], environment);
  const provisioned = await provision(environment);

  // One after another, as the README says: the bank comes first.
  const running = new Map<string, RunningProcess>();
  for (const app of appsOfTheReadme()) running.set(app, await startProcess(app, environment));
  const processes = [...running.values()];
  const urlOf = (app: string) => String(running.get(app)?.ready['url']);
  return {
    apiUrl: urlOf('api-gateway'),
    ...provisioned,
    dashboardUrl: urlOf('dashboard'),
    pagesUrl: urlOf('payment-pages'),
    databaseUrl: database.url,
    environment,
    urls: [...running.keys()].map(urlOf),
    urlOf,
    bankUrl: urlOf('bank-simulator'),
    logs: () => processes.map((process) => process.stderr()).join('\n'),
    stdout: () => processes.map((process) => process.stdout()).join('\n'),
    stop: async () => {
      await Promise.all(processes.map((process) => process.stop()));
      await database.drop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Creates an organization with one originator and one key, like an operator. */
export async function provision(
  environment: Readonly<Record<string, string>>,
): Promise<Provisioned> {
  const { organizationId } = await pisJson<{ organizationId: string }>(
    ['organization', 'create', '--name', 'Scenario Inc'],
    environment,
  );
  const dir = mkdtempSync(path.join(os.tmpdir(), 'pis-originator-'));
  const file = path.join(dir, 'originator.json');
  writeFileSync(
    file,
    JSON.stringify({
      entityType: 'BUSINESS',
      companyName: 'Scenario Inc',
      email: 'treasury@scenario.example',
      bankAccount: {
        subType: 'CHECKING',
        achRoutingNumber: '021000021',
        achAccountNumber: '778899001122',
      },
    }),
  );
  const { originatorId } = await pisJson<{ originatorId: string }>(
    ['originator', 'create', '--organization', organizationId, '--file', file],
    environment,
  );
  rmSync(dir, { recursive: true });
  const { apiKey } = await pisJson<{ apiKey: string }>(
    ['api-key', 'create', '--organization', organizationId, '--type', 'full_access'],
    environment,
  );
  return { organizationId, originatorId, apiKey };
}
