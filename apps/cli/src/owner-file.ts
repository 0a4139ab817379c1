/** Files that a command writes. Evidence has addresses of people in it: it is for its owner only, as exports are. */
import { randomUUID } from 'node:crypto';
import { lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { CommandFailed, describe } from './output.js';

const ownerOnly = 0o600;

/**
 * Whole or not at all, in the place of a file that is there. A device or pipe, such as /dev/stdout, is written to.
 * @throws CommandFailed
 */
export function writeForOwner(file: string, bytes: string | Uint8Array): void {
  const isReplaced = lstatSync(file, { throwIfNoEntry: false })?.isFile() ?? true;
  try {
    if (!isReplaced) return writeFileSync(file, bytes, { mode: ownerOnly });
    const partial = `${file}.${randomUUID()}.part`;
    try {
      writeFileSync(partial, bytes, { mode: ownerOnly, flag: 'wx' });
      renameSync(partial, file);
    } finally {
      rmSync(partial, { force: true });
    }
  } catch (error) {
    throw new CommandFailed(`cannot write the file: ${describe(error)}`);
  }
}
