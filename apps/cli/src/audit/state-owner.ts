/** Makes sure that only one audit uses a state file at a time. Otherwise each would overwrite what the other saved. */
import { accessSync, constants, realpathSync } from 'node:fs';
import path from 'node:path';
import { LockHeld, takeLock } from '@pis/local-servers';
import { CommandFailed, describe } from '../output.js';

/**
 * Locks the state file for this process. Works only among processes on the same machine. The lock ends with the process,
 * however the process ends. A small lock file stays beside the state file.
 * @returns a function that releases the lock
 * @throws CommandFailed when another process holds the lock, or when the folder of the file is not writable
 */
export function ownState(file: string): () => void {
  try {
    const folder = realpathSync(path.dirname(file));
    accessSync(folder, constants.W_OK);
    return takeLock(folder, `${path.basename(file)}.lock`);
  } catch (error) {
    if (error instanceof LockHeld)
      throw new CommandFailed(
        `${file}: another audit uses it (process ${error.pid}). Wait for its end, or name another file`,
      );
    throw new CommandFailed(`${file}: it cannot be written: ${describe(error)}`);
  }
}
