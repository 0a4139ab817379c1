/** One audit at a time uses a state file: of two, each would replace what the other has saved. */
import { accessSync, constants, realpathSync } from 'node:fs';
import path from 'node:path';
import { LockHeld, takeLock } from '@pis/local-servers';
import { CommandFailed, describe } from '../output.js';

/**
 * Takes the file for this process, which must be on the same machine as any other. It is free again when the process is
 * gone, for any reason. A small file stays beside it.
 * @returns gives the file back
 * @throws CommandFailed when another process has it, or when nothing can be written beside it
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
