/** The simulated bank as another company: a process with a database of its own. */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createTestDatabase } from '@pis/local-servers/testing';
import type { RunningProcess } from './process.js';
import { startSimulatedBank } from './simulated-bank.js';

export interface Bank {
  readonly process: RunningProcess;
  readonly url: string;
  readonly databaseUrl: string;
  /** For PIS_BANKS_FILE. */
  readonly banksFile: string;
  stop(): Promise<void>;
}

export async function startBank(settings: Readonly<Record<string, string>>): Promise<Bank> {
  const database = await createTestDatabase();
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'pis-bank-'));
  const environment = { ...settings, DATABASE_URL: database.url, PIS_DATA_DIR: dataDir };
  const { process, banksFile } = await startSimulatedBank(environment);
  return {
    process,
    url: String(process.ready['url']),
    databaseUrl: database.url,
    banksFile,
    stop: async () => {
      await process.stop();
      await database.drop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
