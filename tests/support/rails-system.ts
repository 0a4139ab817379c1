/**
 * The paying part of the system as separate processes: gateway, projectors, an executor, and the simulated bank,
 * which the executor reaches over SFTP and HTTPS. Without Kafka: the broker does not matter here.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import type pg from 'pg';
import { Api } from './api.js';
import { pisJson, startProcess } from './process.js';
import { type ChangeBank, changedBanksFile, startSimulatedBank } from './simulated-bank.js';
import { provision } from './systems.js';
import { startedWhole, type Undo } from './undo.js';

export interface RailsSystem {
  readonly api: Api;
  readonly pool: pg.Pool;
  readonly environment: Readonly<Record<string, string>>;
  /** Starts the executor again with further settings. */
  restartExecutor(settings: Readonly<Record<string, string>>): Promise<void>;
  /** What all processes have logged. */
  logs(): string;
  stop(): Promise<void>;
}

const others = ['payments-projector', 'directory-projector', 'api-gateway'] as const;
const poolMax = 2;
/** Each day is a banking day of every rail: a test must not depend on the clock. */
const alwaysOpen = {
  sameDay: ['always'],
  standard: 'always',
  fedwire: 'always',
  swift: 'always',
};

export function startRailsSystem(
  settings: Readonly<Record<string, string>>,
  changeBank: ChangeBank = () => undefined,
): Promise<RailsSystem> {
  return startedWhole((undo) => startParts(settings, undo, changeBank));
}

async function startParts(
  settings: Readonly<Record<string, string>>,
  undo: Undo,
  changeBank: ChangeBank,
): Promise<Omit<RailsSystem, 'stop'>> {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'pis-rails-'));
  undo.push(() => rmSync(dataDir, { recursive: true, force: true }));
  const database = await createTestDatabase();
  undo.push(() => database.drop());
  const environment: Record<string, string> = {
    DATABASE_URL: database.url,
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    PIS_DATA_DIR: dataDir,
    PIS_RATE_LIMIT_PER_KEY: '0',
    ...settings,
  };
  await pisJson(['migrate'], environment);
  const { apiKey } = await provision(environment);
  const bank = await startSimulatedBank(environment);
  undo.push(() => bank.process.stop());
  environment['PIS_BANKS_FILE'] = changedBanksFile(bank.banksFile, (connection) => {
    connection.cutoffs = alwaysOpen;
    changeBank(connection);
  });
  const running = [bank.process];
  const start = async (app: string, more: Readonly<Record<string, string>> = {}) => {
    const process = await startProcess(app, { ...environment, ...more });
    undo.push(() => process.stop());
    running.push(process);
    return process;
  };
  let executor = await start('rail-executor');
  for (const app of others) await start(app);
  const gatewayUrl = String(running.at(-1)?.ready['url']);
  const pool = openTestPool(database.url, poolMax);
  undo.push(() => pool.end());
  return {
    api: new Api(gatewayUrl, apiKey),
    pool,
    environment,
    async restartExecutor(more) {
      await executor.stop();
      executor = await start('rail-executor', more);
    },
    logs: () => running.map((process) => process.stderr()).join('\n'),
  };
}
