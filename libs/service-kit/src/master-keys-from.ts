/** The master keys and the audit key of a process, from its environment or from mounted secrets. */
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { keyBytes, MasterKeys } from '@pis/keyring';
import { ConfigurationError } from './config.js';
import {
  type AuditConfig,
  type KeyringConfig,
  masterKeyIn,
  masterKeyProblem,
  masterKeysIn,
  masterKeyVariables,
  type ProcessConfig,
} from './environment.js';
import { makeFolder } from './made-folder.js';

export type MasterKeyConfig = KeyringConfig &
  Pick<ProcessConfig, 'PIS_DATA_DIR' | 'PIS_ENVIRONMENT'>;

/** Whether the environment names master keys. The sandbox can do without. */
export function hasMasterKey(config: KeyringConfig): boolean {
  return masterKeyVariables.some((variable) => config[variable] !== undefined);
}

/** Whether masterKeysFrom finds keys, and creates none. */
export function findsMasterKey(config: MasterKeyConfig): boolean {
  if (hasMasterKey(config)) return true;
  return config.PIS_ENVIRONMENT === 'sandbox' && existsSync(fileOf(config));
}

function fileOf({ PIS_DATA_DIR }: MasterKeyConfig): string {
  return path.join(PIS_DATA_DIR, 'master-key');
}

/**
 * The active key first. In the sandbox without a key in the environment, a file in PIS_DATA_DIR that the
 * first process creates. Losing the keys makes everything that is sealed unreadable.
 * @throws ConfigurationError, which never tells a key
 */
export function masterKeysFrom(config: MasterKeyConfig): MasterKeys {
  const given = masterKeyVariables.find((variable) => config[variable] !== undefined);
  if (given !== undefined) return parse(given, textOf(given, config[given] ?? ''));
  if (config.PIS_ENVIRONMENT === 'production')
    throw new ConfigurationError(['PIS_MASTER_KEY: required when PIS_ENVIRONMENT is production']);
  const file = fileOf(config);
  createOnce(file, randomBytes(keyBytes).toString('base64'));
  const text = readFileSync(file, 'utf8').trim();
  const problem = masterKeyProblem([text]);
  if (problem !== null) throw new ConfigurationError([`PIS_DATA_DIR: ${file}: ${problem}`]);
  return new MasterKeys([Buffer.from(text, 'base64')]);
}

export type AuditKeyConfig = AuditConfig & Pick<ProcessConfig, 'PIS_DATA_DIR' | 'PIS_ENVIRONMENT'>;

/**
 * The Ed25519 private key that signs checkpoints, 32 bytes. In the sandbox without a key in the environment, a file in
 * PIS_DATA_DIR that the first process creates.
 * @throws ConfigurationError, which never tells a key
 */
export function auditKeyFrom(config: AuditKeyConfig): Buffer {
  const { PIS_AUDIT_KEY: given, PIS_AUDIT_KEY_FILE: mounted } = config;
  if (given !== undefined) return auditKeyIn('PIS_AUDIT_KEY', given);
  if (mounted !== undefined)
    return auditKeyIn('PIS_AUDIT_KEY_FILE', textOf('PIS_AUDIT_KEY_FILE', mounted));
  if (config.PIS_ENVIRONMENT === 'production')
    throw new ConfigurationError(['PIS_AUDIT_KEY: required when PIS_ENVIRONMENT is production']);
  const file = path.join(config.PIS_DATA_DIR, 'audit-key');
  createOnce(file, randomBytes(keyBytes).toString('base64'));
  return auditKeyIn(`PIS_DATA_DIR: ${file}`, readFileSync(file, 'utf8'));
}

function auditKeyIn(where: string, text: string): Buffer {
  const keys = masterKeyIn(text);
  const problem = masterKeyProblem(keys);
  if (problem !== null) throw new ConfigurationError([`${where}: ${problem}`]);
  return Buffer.from(keys[0] ?? '', 'base64');
}

type Variable = (typeof masterKeyVariables)[number];

function textOf(variable: Variable | keyof AuditConfig, given: string): string {
  if (!variable.endsWith('_FILE')) return given;
  try {
    return readFileSync(given, 'utf8');
  } catch (error) {
    // Without the message: it tells the path, which is the key when somebody mixed the variables up.
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new ConfigurationError([`${variable}: cannot be read: ${code}`]);
  }
}

function parse(variable: Variable, text: string): MasterKeys {
  const isList = variable.startsWith('PIS_MASTER_KEYS');
  const texts = isList ? masterKeysIn(text) : masterKeyIn(text);
  const problem = masterKeyProblem(texts);
  if (problem !== null) throw new ConfigurationError([`${variable}: ${problem}`]);
  return new MasterKeys(texts.map((one) => Buffer.from(one, 'base64')));
}

/** If several processes start at once, one creates the whole file, and all read the same key. */
function createOnce(file: string, text: string): void {
  if (existsSync(file)) return;
  makeFolder('PIS_DATA_DIR', path.dirname(file));
  // Process IDs do not tell two containers on one volume apart.
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx' });
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
