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

/**
 * Keys, certificates and the banks file are in the PIS_DATA_DIR of `environment`. The ports are free ones. To
 * start the bank again under the same addresses, give it those of the banks file (portsOf).
 */
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

/** The ports of the servers, as the environment of a bank that is started again. */
export function portsOf(banksFile: string): Readonly<Record<string, string>> {
  const connections = read(banksFile).banks.flatMap((bank) => bank.connections);
  const sftp = connections.find((connection) => connection.sftp !== undefined)?.sftp;
  const https = connections.find((connection) => connection.https !== undefined)?.https;
  if (sftp === undefined || https === undefined) throw new Error(`${banksFile} is not complete`);
  return {
    PIS_BANK_SFTP_PORT: String(sftp.port),
    PIS_BANK_HTTPS_PORT: new URL(https.baseUrl).port,
  };
}

function read(banksFile: string): SimulatedBanks {
  return JSON.parse(readFileSync(banksFile, 'utf8')) as SimulatedBanks;
}
