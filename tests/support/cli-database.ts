/** For specs of `pis`: a database without a running system, and the environment of the commands. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import type pg from 'pg';
import { pisJson } from './process.js';

export interface CliDatabase {
  readonly environment: Readonly<Record<string, string>>;
  readonly pool: pg.Pool;
  /** A folder for files of the spec. */
  readonly scratch: string;
  end(): Promise<void>;
}

export interface CliOrganization extends CliDatabase {
  readonly organizationId: string;
}

export async function cliDatabase(masterKey: Buffer = randomBytes(32)): Promise<CliDatabase> {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 2);
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'pis-cli-'));
  return {
    environment: {
      DATABASE_URL: database.url,
      PIS_MASTER_KEY: masterKey.toString('base64'),
      PIS_DATA_DIR: path.join(scratch, 'unused'),
    },
    pool,
    scratch,
    end: async () => {
      await pool.end();
      await database.drop();
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}

/** With one organization. */
export async function cliOrganization(masterKey?: Buffer): Promise<CliOrganization> {
  const cli = await cliDatabase(masterKey);
  try {
    const create = ['organization', 'create', '--name', 'Acme'];
    return {
      ...cli,
      ...(await pisJson<{ organizationId: string }>(create, cli.environment)),
    };
  } catch (error) {
    await cli.end();
    throw error;
  }
}
