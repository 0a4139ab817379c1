/**
 * Which process a process id stands for. Ids are used again after a while, so what is to be waited
 * for or killed later is remembered by id and start time.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Start time and boot of a running process as one string; null when there is none, or only a zombie. */
export function processIdentity(pid) {
  if (process.platform !== 'linux') return ps(pid, 'lstart=');
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
  if (process.platform !== 'linux') return ps(pid, 'command=');
  return readOrNull(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ').trim() ?? null;
}

/** The parent's process id, or null. */
export function parentOf(pid) {
  if (process.platform !== 'linux') return Number(ps(pid, 'ppid=')) || null;
  const stat = readOrNull(`/proc/${pid}/stat`);
  return stat === null ? null : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

function ps(pid, column) {
  const { status, stdout } = spawnSync('ps', ['-o', column, '-p', String(pid)], {
    encoding: 'utf8',
  });
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
