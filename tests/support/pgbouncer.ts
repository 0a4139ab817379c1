/** PgBouncer in front of a database, in transaction mode: the next statement may use another session. */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { freePort } from '@pis/local-servers';
import { until } from '@pis/local-servers/testing';
import pg from 'pg';

/** Whether there is one here (.ci/programs gets it). */
export const hasPgBouncer = spawnSync('pgbouncer', ['--version']).status === 0;

const startLimitMs = 20_000;
/** Fewer than the clients use at a time, so that they really share sessions. */
const serverConnectionsMax = 4;
/** Ends the pooler when this process ends, however it ends: its end closes the standard input. */
const untilInputEnds = 'pgbouncer "$1" & cat; kill "$!"';

export interface PgBouncer {
  /** The database through the pooler. */
  readonly url: string;
  stop(): Promise<void>;
}

export async function startPgBouncer(databaseUrl: string): Promise<PgBouncer> {
  const { hostname, port, pathname, username, password } = new URL(databaseUrl);
  const name = pathname.slice(1);
  const listenPort = await freePort();
  const dir = mkdtempSync(path.join(os.tmpdir(), 'pis-pgbouncer-'));
  chmodSync(dir, 0o755);
  const file = path.join(dir, 'pgbouncer.ini');
  const server = `host=${hostname} port=${port} user=${username} password=${password}`;
  const settings = [
    '[databases]',
    `${name} = dbname=${name} ${server}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${listenPort}`,
    'unix_socket_dir =',
    // Everybody is the user of the database above.
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${serverConnectionsMax}`,
    'max_client_conn = 200',
    // It does not run as root.
    ...(process.getuid?.() === 0 ? ['user = nobody'] : []),
  ];
  writeFileSync(file, `${settings.join('\n')}\n`);
  const child = spawn('sh', ['-c', untilInputEnds, 'sh', file], {
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const ended = new Promise((resolve) => child.once('close', resolve));
  const url = `postgres://${username}@127.0.0.1:${listenPort}/${name}`;
  await until(() => answers(url), { timeoutMs: startLimitMs }).catch((error: unknown) => {
    throw new Error(`PgBouncer does not answer: ${log}`, { cause: error });
  });
  return {
    url,
    stop: async () => {
      child.stdin.end();
      await ended;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}
