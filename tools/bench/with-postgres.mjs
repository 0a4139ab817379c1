/** What the parts of the bench stand on: a PostgreSQL in a folder of its own, and the settings of apps on it. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '@pis/local-servers';

/**
 * Runs `work({ databaseUrl, postgresPid, scratch, undo })` on a PostgreSQL of its own, then the steps of `undo`, the last one first.
 * @param settings of the server; by default it has those of the embedded PostgreSQL
 */
export async function withPostgres(work, { database = 'bench', settings = [] } = {}) {
  const scratch = mkdtempSync(join(tmpdir(), 'pis-bench-'));
  const undo = [() => rmSync(scratch, { recursive: true, force: true })];
  try {
    const postgres = await startPostgres({
      dataDir: join(scratch, 'postgres'),
      database,
      settings,
    });
    undo.push(() => postgres.stop());
    const { url: databaseUrl, pid: postgresPid } = postgres;
    return await work({ databaseUrl, postgresPid, scratch, undo });
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

/** The settings of apps on it, without rate limits. */
export function appSettings({ databaseUrl, scratch }) {
  return {
    DATABASE_URL: databaseUrl,
    // The same for all apps on it: another one would be refused.
    PIS_MASTER_KEY: createHash('sha256').update(scratch).digest('base64'),
    PIS_DATA_DIR: join(scratch, 'data'),
    PIS_RATE_LIMIT_PER_KEY: '0',
    LOG_LEVEL: 'warn',
  };
}

/** Those of an app that creates an organization with `apiKey` and delivers webhooks to `receiver`. */
export function sendingSettings(place, { apiKey, receiver }) {
  return {
    ...appSettings(place),
    PIS_BOOTSTRAP_API_KEY: apiKey,
    PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    PIS_WEBHOOK_CA_FILE: receiver.hello.caFile,
  };
}

export function newApiKey() {
  return `pis_test_${randomBytes(32).toString('base64url')}`;
}
