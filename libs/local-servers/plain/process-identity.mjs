/**
 * Which process a process ID stands for. IDs are reused after a while, so a process that is to be waited
 * for or killed later is remembered by ID and start time. Both are read from /proc where it exists (Linux),
 * and from ps elsewhere (macOS).
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

const hasProc = existsSync('/proc/self/stat');

/** Start time and boot of a running process as one string; null when there is none, or only a zombie. */
export function processIdentity(pid) {
  if (!hasProc) return identityByPs(pid);
  const stat = readOrNull(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The command in parentheses may itself hold spaces and parentheses: count from the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state] = fields;
  const startedAtTicks = fields[19];
  if (state === 'Z' || state === 'X') return null;
  return `${readOrNull('/proc/sys/kernel/random/boot_id')?.trim() ?? ''}:${startedAtTicks}`;
}

/** The command line of a running process, or null. */
export function commandLine(pid) {
  if (!hasProc) return ps(pid, ['command=']);
  return readOrNull(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ').trim() ?? null;
}

/** The parent's process id, or null. */
export function parentOf(pid) {
  if (!hasProc) return Number(ps(pid, ['ppid='])) || null;
  const stat = readOrNull(`/proc/${pid}/stat`);
  return stat === null ? null : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

/**
 * Whether `pid` is still the process with this identity. Cheap enough for several calls a second. Without
 * /proc a process with the same ID counts as the same one for up to `psEveryMs`, because starting ps each
 * time would cost too much.
 */
export function processWatch(pid, identity) {
  let askedAtMs = -Infinity;
  let same = true;
  return () => {
    if (hasProc) return processIdentity(pid) === identity;
    if (!same || !exists(pid)) return false;
    if (performance.now() - askedAtMs < psEveryMs) return true;
    askedAtMs = performance.now();
    same = processIdentity(pid) === identity;
    return same;
  };
}

const psEveryMs = 5_000;

/** A process with this ID that cannot be signaled belongs to another user, but exists. */
function exists(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function identityByPs(pid) {
  const line = ps(pid, ['stat=', 'lstart=']);
  if (line === null) return null;
  const [, state, startedAt] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
  return startedAt === undefined || state.startsWith('Z') ? null : startedAt;
}

/** In one language and time zone: processes with other settings must read the same start time. */
function ps(pid, columns) {
  const { status, stdout } = spawnSync(
    'ps',
    [...columns.flatMap((column) => ['-o', column]), '-p', String(pid)],
    { encoding: 'utf8', env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' } },
  );
  return status === 0 ? stdout.trim() || null : null;
}

function readOrNull(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    // ESRCH: the process ended between open and read.
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(error.code)) return null;
    throw error;
  }
}
