/**
 * The files of an embedded PostgreSQL, and what a predecessor may have left of itself.
 *
 *   dataDir/cluster    the data directory proper; appears complete or not at all
 *   dataDir/password   of the user postgres, readable by the starting user only
 *   dataDir/log        what the server says
 *   dataDir/owner.N    which process has it in use; a second one is refused
 *   dataDir/guardian   which guardian watches over it; the next owner waits for it to end
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { commandLine, processIdentity } from '../plain/process-identity.mjs';
import { startGuardian, type Guardian } from './guardian.js';
import { findBinaries, serverAccount } from './postgres-account.js';
import type { PostgresBinaries, ServerAccount } from './postgres-account.js';
import { logSince, runLogged, sizeOf } from './run-logged.js';

const startTimeoutS = 60;
const stopTimeoutS = 20;
const guardianEndTimeoutMs = 45_000;
const logBytesMax = 10 * 1024 * 1024;
const fixedSettings = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  // The first change of a page after a checkpoint writes the whole page to the write-ahead log (WAL). These two keep
  // that small. The binaries have no lz4. `max_wal_size` limits what a restart has to replay.
  'wal_compression=pglz',
  'checkpoint_timeout=15min',
];

export interface Cluster {
  readonly dataDir: string;
  readonly folder: string;
  readonly log: string;
  readonly password: string;
  readonly binaries: PostgresBinaries;
  readonly account: ServerAccount;
}

export async function prepareCluster(dataDir: string): Promise<Cluster> {
  const binaries = findBinaries();
  const folder = join(dataDir, 'cluster');
  const account = serverAccount(binaries, dataDir, folder);
  const log = join(dataDir, 'log');
  if (sizeOf(log) > logBytesMax) renameSync(log, `${log}.old`);
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

/** initdb into another folder, then renamed: an incomplete cluster is never mistaken for a complete one. */
async function initialize({
  dataDir,
  folder,
  log,
  password,
  binaries,
  account,
}: Cluster): Promise<void> {
  for (const name of readdirSync(dataDir))
    if (name.startsWith('new-'))
      rmSync(join(dataDir, name), { recursive: true, force: true, maxRetries: 3 });
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
 * A killed predecessor left a guardian that is about to stop the server. That guardian must end before a
 * new server starts, or it would stop the new one. A server without a guardian is stopped.
 */
export async function endOfLastGuardian(cluster: Cluster): Promise<void> {
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
 * PostgreSQL refuses to start when the process ID in its file exists, even if it belongs to another program
 * by now or to a zombie. Other stale files are left to PostgreSQL, which also uses them to check that no
 * backend of the dead server is still attached to the shared memory.
 */
function removeMisleadingPidFile(folder: string): void {
  const file = join(folder, 'postmaster.pid');
  if (!existsSync(file) || runningPostmaster(folder) !== null) return;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  if (commandLine(pid) !== null) rmSync(file, { force: true });
}

export async function stopLeftover({ account, log, binaries, folder }: Cluster): Promise<void> {
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

/** Starts the guardian of this cluster; the first `start` is given to it later. */
export async function watch(cluster: Cluster, settings: readonly string[]): Promise<Guardian> {
  const { binaries, folder, log, account, dataDir } = cluster;
  const flags = [...fixedSettings, ...settings].map(
    (setting) => `-c '${setting.replaceAll("'", `'\\''`)}'`,
  );
  const guardian = await startGuardian({
    functions: `
start() {
  "$PG_CTL" start -w -t ${startTimeoutS} -D "$CLUSTER" -l "$LOG" -o "-p $1 $FLAGS"
  code=$?
  read -r postmaster <"$CLUSTER/postmaster.pid" || postmaster=
  return $code
}
# pg_ctl finds the server by its files. They may have been deleted, and then nothing is left to save.
stop_by_pid() {
  [ -n "$postmaster" ] || return 0
  case "$(ps -o command= -p "$postmaster")" in *"$CLUSTER"*) kill -QUIT "$postmaster" ;; esac
}
stop() {
  "$PG_CTL" status -D "$CLUSTER" || { stop_by_pid; return; }
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

/** Null when it runs; otherwise what it said. */
export async function tryToStart(
  cluster: Cluster,
  guardian: Guardian,
  port: number,
): Promise<string | null> {
  removeMisleadingPidFile(cluster.folder);
  const from = sizeOf(cluster.log);
  const { code } = await guardian.run('start', String(port));
  return code === 0 ? null : logSince(cluster.log, from);
}

/** The postmaster that really runs on this cluster. The process ID in its file may belong to another program. */
export function runningPostmaster(folder: string): { pid: number; port: number | null } | null {
  const file = join(folder, 'postmaster.pid');
  if (!existsSync(file)) return null;
  const lines = readFileSync(file, 'utf8').split('\n');
  const pid = Number(lines[0]);
  const command = pid > 0 ? commandLine(pid) : null;
  if (command === null || processIdentity(pid) === null) return null;
  if (!command.includes('postgres') || !command.includes(folder)) return null;
  return { pid, port: lines[7]?.trim() === 'ready' ? Number(lines[3]) : null };
}

function writeAtomically(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}
