/** Copies of a running PostgreSQL, as docs/operations.md describes them: to restore from, and for a replica. */
import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Postgres } from '@pis/local-servers';
import pg from 'pg';

/**
 * A base backup of the server's files into a new folder, without its WAL.
 * @param meanwhile runs after the copy has begun and before it ends
 */
export async function baseBackup(
  { url, dataDir }: Pick<Postgres, 'url' | 'dataDir'>,
  copy: string,
  meanwhile: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("SELECT pg_backup_start('nightly', true)");
    mkdirSync(copy);
    const parts = ['cluster', 'password'].map((name) => path.join(dataDir, name));
    execFileSync('cp', ['-a', ...parts, copy]);
    await meanwhile();
    const { rows } = await client.query<{ labelfile: string }>(
      'SELECT labelfile FROM pg_backup_stop(true)',
    );
    const cluster = path.join(copy, 'cluster');
    const leftovers = ['postmaster.pid', 'postmaster.opts'].map((name) => path.join(cluster, name));
    for (const file of [...leftovers, ...filesBelow(path.join(cluster, 'pg_wal'))])
      rmSync(file, { force: true });
    writeInCluster(copy, 'backup_label', rows[0]?.labelfile ?? '');
  } finally {
    await client.end();
  }
}

/** A file of the user who owns the cluster, as whom the server runs. */
export function writeInCluster(dataDir: string, name: string, text: string): void {
  const folder = path.join(dataDir, 'cluster');
  const file = path.join(folder, name);
  writeFileSync(file, text);
  const { uid, gid } = statSync(folder);
  chownSync(file, uid, gid);
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}
