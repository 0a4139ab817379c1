/** The simulated bank as a separate process: SFTP for ACH files, HTTPS with client certificates for messages. */
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type RunningProcess, startProcess } from './process.js';

export interface SimulatedBank {
  readonly process: RunningProcess;
  /** For PIS_BANKS_FILE of the gateway and the executors. */
  readonly banksFile: string;
}

/** Keys, certificates and the banks file are in the PIS_DATA_DIR of `environment`. The ports are free ones. */
export async function startSimulatedBank(
  environment: Readonly<Record<string, string>>,
): Promise<SimulatedBank> {
  const process = await startProcess('bank-simulator', environment);
  const banksFile = path.join(environment['PIS_DATA_DIR'] ?? '', 'simulated-bank', 'banks.yaml');
  return { process, banksFile };
}

/** The banks file of the simulated bank: what tests change in it. The simulator writes JSON, which is YAML. */
export interface SimulatedBanks {
  readonly banks: readonly {
    readonly connections: readonly {
      name: string;
      cutoffs?: Readonly<Record<string, unknown>>;
      readonly ach?: { prenotes: boolean };
      readonly sftp?: { host: string; port: number; pollSeconds: number };
      readonly https?: { baseUrl: string; pollSeconds: number };
    }[];
  }[];
}

export type ChangeBank = (
  connection: SimulatedBanks['banks'][number]['connections'][number],
) => void;

/** A copy of the banks file with changes, for example the addresses of a proxy. Its path. */
export function changedBanksFile(banksFile: string, change: ChangeBank): string {
  const content = read(banksFile);
  for (const { connections } of content.banks) connections.forEach(change);
  const changed = `${banksFile}.${randomUUID().slice(0, 8)}`;
  writeFileSync(changed, JSON.stringify(content));
  return changed;
}

function read(banksFile: string): SimulatedBanks {
  return JSON.parse(readFileSync(banksFile, 'utf8')) as SimulatedBanks;
}
