/** What git lists, for checks of the repository's own files. */
import { spawnSync } from 'node:child_process';
import { root } from './workspace.mjs';

/**
 * Paths from the root, as `git ls-files` prints them. Null outside of git.
 * @throws with CI=true where git cannot list them: a check that looks at nothing must not pass there
 */
export function gitFiles(options, { cwd = root, isCi = process.env.CI === 'true' } = {}) {
  const args = ['ls-files', '-z', ...options];
  const { status, stdout, stderr, error } = spawnSync('git', args, { cwd, encoding: 'utf8' });
  if (status === 0) return stdout.split('\0').filter((file) => file !== '');
  if (isCi) throw new Error(`git cannot list the files: ${error?.message ?? stderr.trim()}`);
  return null;
}
