/**
 * Gateway, projectors, two executors, fee collectors and a bank as processes that a test may kill. The executors reach the
 * bank over lines that can be cut. The bank has a database of its own on another server, so its books outlive
 * everything that a test kills.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { freePort, type Kafka, type Postgres, startKafka, startPostgres } from '@pis/local-servers';
import { createTestDatabase, openTestPool, type Random, until } from '@pis/local-servers/testing';
import type pg from 'pg';
import { Api } from './api.js';
import { type CuttingLine, startCuttingLine } from './cutting-line.js';
import { pisJson } from './process.js';
import { changedBanksFile } from './simulated-bank.js';
import { provision } from './systems.js';
import { startedWhole, type Undo } from './undo.js';
import { startUnreliableMessages, type UnreliableMessages } from './unreliable-messages.js';
import { startApp, Victim } from './victim.js';

export interface RailsSystem {
  readonly api: Api;
  /** For `pis`. */
  readonly environment: Readonly<Record<string, string>>;
  readonly pool: pg.Pool;
  /** The database of the bank. */
  readonly bankPool: pg.Pool;
  readonly executors: readonly Victim[];
  /** None unless the options say so. */
  readonly collectors: readonly Victim[];
  readonly bank: Victim;
  /** Resolves when the server runs again. */
  killPostgres(): Promise<void>;
  /** Null without Kafka. */
  readonly kafka: Kafka | null;
  /** The lines to the bank: NACHA files over SFTP, ISO 20022 messages over HTTPS. */
  readonly lines: { readonly files: CuttingLine; readonly messages: CuttingLine };
  readonly unreliable: UnreliableMessages;
  stop(): Promise<void>;
}

export interface RailsSystemOptions {
  readonly onKafka: boolean;
  readonly random: Random;
  /** YAML: what the bank does with which transfer. */
  readonly scenarios: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly collectors?: number;
}

const databaseConnections = 5;
const recoveryLimitMs = 120_000;
/** Of how many credit transfers over messages one goes wrong. */
const mishapsOneIn = 12;
const lateMaxMs = 1_500;
/** So that no hour and no weekend changes a rail. */
const alwaysOpen = { sameDay: ['always'], standard: 'always', fedwire: 'always', swift: 'always' };

export function startRailsSystem(options: RailsSystemOptions): Promise<RailsSystem> {
  return startedWhole((undo) => startParts(options, undo));
}

async function startParts(
  { onKafka, random, scenarios, settings, collectors: collectorCount = 0 }: RailsSystemOptions,
  undo: Undo,
): Promise<Omit<RailsSystem, 'stop'>> {
  const base = mkdtempSync(path.join(os.tmpdir(), 'pis-rails-chaos-'));
  undo.push(() => rm(base, { recursive: true, force: true }));
  const postgres = await startPostgres({
    ...{ dataDir: path.join(base, 'postgres'), database: 'pis', supervise: true },
  });
  undo.push(() => postgres.stop());
  const kafka = onKafka ? await startKafka({ dir: path.join(base, 'kafka') }) : null;
  if (kafka !== null) undo.push(() => kafka.stop());

  const bank = await startBank({ base, scenarios, settings, random }, undo);
  const environment: Record<string, string> = {
    DATABASE_URL: postgres.url,
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    PIS_DATA_DIR: path.join(base, 'data'),
    PIS_RATE_LIMIT_PER_KEY: '0',
    PIS_BANKS_FILE: bank.banksFile,
    ...(kafka === null ? {} : { PIS_BROKER: 'kafka', KAFKA_BROKERS: kafka.brokers.join(',') }),
    ...settings,
  };
  await pisJson(['migrate'], environment);
  if (kafka !== null) await pisJson(['kafka', 'apply'], environment);
  const { apiKey } = await provision(environment);
  const start = async (app: string) => {
    const running = await startApp(app, environment);
    undo.push(() => running.kill());
    return running;
  };
  if (kafka !== null) await start('event-relay');
  for (const projector of ['directory-projector', 'payments-projector']) await start(projector);
  const gateway = await start('api-gateway');
  const executors = [0, 1].map(() => new Victim(() => startApp('rail-executor', environment)));
  const collectors = Array.from(
    { length: collectorCount },
    () => new Victim(() => startApp('fee-collector', environment)),
  );
  const victims = [...executors, ...collectors];
  for (const one of victims) undo.push(() => one.stop());
  await Promise.all(victims.map((one) => one.up()));
  const pool = openTestPool(postgres.url, databaseConnections);
  undo.push(() => pool.end());
  const { victim, bankPool, lines, unreliable } = bank;
  return {
    api: new Api(String(gateway.ready['url']), apiKey),
    ...{ environment, pool, bankPool, executors, collectors, bank: victim, kafka },
    ...{ lines, unreliable },
    killPostgres: () => killPostgres(postgres),
  };
}

async function killPostgres(server: Postgres): Promise<void> {
  const { pid } = server;
  process.kill(pid, 'SIGKILL');
  await until(() => server.pid !== pid && server.alive(), {
    ...{ timeoutMs: recoveryLimitMs, what: 'PostgreSQL runs again' },
  });
}

interface BankOptions extends Pick<RailsSystemOptions, 'scenarios' | 'settings' | 'random'> {
  readonly base: string;
}

/** On fixed ports, behind the lines. Its keys outlive it in its folder. */
async function startBank({ base, scenarios, settings, random }: BankOptions, undo: Undo) {
  const database = await createTestDatabase();
  undo.push(() => database.drop());
  const bankPool = openTestPool(database.url, databaseConnections);
  undo.push(() => bankPool.end());
  const folder = path.join(base, 'bank');
  const scenariosFile = path.join(base, 'scenarios.yaml');
  writeFileSync(scenariosFile, scenarios);
  const ports = { files: await freePort(), messages: await freePort() };
  const environment = {
    ...settings,
    DATABASE_URL: database.url,
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    PIS_DATA_DIR: folder,
    PIS_BANK_SCENARIOS_FILE: scenariosFile,
    PIS_BANK_SFTP_PORT: String(ports.files),
    PIS_BANK_HTTPS_PORT: String(ports.messages),
  };
  const victim = new Victim(() => startApp('bank-simulator', environment));
  undo.push(() => victim.stop());
  await victim.up();
  const keysFolder = path.join(folder, 'simulated-bank');
  const unreliable = await startUnreliableMessages({
    ...{ bankPort: ports.messages, keysFolder, random, oneIn: mishapsOneIn, lateMaxMs },
  });
  undo.push(() => unreliable.close());
  const lines = {
    files: await startCuttingLine({
      ...{ targetPort: ports.files, handshakeRequests: 10, uploadMinBytes: 900 },
    }),
    // The second request ends the handshake with a certificate of 1 KB. The first message may come with it.
    messages: await startCuttingLine({
      ...{ targetPort: unreliable.port, handshakeRequests: 1, uploadMinBytes: 1_500 },
    }),
  };
  for (const line of Object.values(lines)) undo.push(() => line.close());
  const banksFile = changedBanksFile(path.join(keysFolder, 'banks.yaml'), (connection) => {
    const { sftp, https } = connection;
    if (sftp !== undefined) sftp.port = lines.files.port;
    if (https !== undefined) https.baseUrl = `https://127.0.0.1:${lines.messages.port}`;
    connection.cutoffs = alwaysOpen;
  });
  return { victim, bankPool, banksFile, lines, unreliable };
}
