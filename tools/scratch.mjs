/**
 * Where the temporary files of a test run go. Tests make and remove thousands of databases and data folders, each with
 * about a thousand files, which takes several times as long on a disk as in memory.
 */
import { readFileSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';

export const memoryFolder = '/dev/shm';
/** A whole run has about 1 GB at once, beside the memory of its processes. */
const memoryMinBytes = 8e9;

/**
 * The folder in memory on Linux, if programs may be run there and it has enough room. Otherwise the usual folder for
 * temporary files, which is also used if somebody chose one with TMPDIR.
 */
export function scratchBase(env = process.env, machine = thisMachine()) {
  const { mounts, roomBytes } = machine;
  const mount = mounts.split('\n').map((line) => line.split(' '));
  const options = mount.find(([, at, type]) => at === memoryFolder && type === 'tmpfs')?.[3];
  const isUsable = options?.split(',').includes('noexec') === false && roomBytes >= memoryMinBytes;
  return env.TMPDIR === undefined && isUsable ? memoryFolder : tmpdir();
}

/** Bytes that fit into the folder and into the memory. Nothing on systems without such a folder. */
function thisMachine() {
  try {
    const { bavail, bsize } = statfsSync(memoryFolder);
    const mounts = readFileSync('/proc/mounts', 'utf8');
    return { mounts, roomBytes: Math.min(bavail * bsize, freemem()) };
  } catch {
    return { mounts: '', roomBytes: 0 };
  }
}
