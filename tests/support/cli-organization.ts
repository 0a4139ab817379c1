/** For specs of `pis organization …`: a database with one organization, and the environment of the commands. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import type pg from 'pg';
import { pisJson } from './process.js';

export interface CliOrganization {
  readonly organizationId: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly pool: pg.Pool;
  /** A folder for files of the spec. */
  readonly scratch: string;
  end(): Promise<void>;
}

export async function cliOrganization(): Promise<CliOrganization> {
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'pis-cli-organization-'));
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 2);
  const end = async () => {
    await pool.end();
    await database.drop();
    rmSync(scratch, { recursive: true, force: true });
  };
  const environment = {
    DATABASE_URL: database.url,
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    PIS_DATA_DIR: path.join(scratch, 'unused'),
  };
  try {
    const create = ['organization', 'create', '--name', 'Acme'];
    const { organizationId } = await pisJson<{ organizationId: string }>(create, environment);
    return { organizationId, environment, pool, scratch, end };
  } catch (error) {
    await end();
    throw error;
  }
}
