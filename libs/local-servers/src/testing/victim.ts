/** For specs of this lib: a Node process that starts a server and is then killed without a warning. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const ownLibrary = join(import.meta.dirname, '..', '..');

/**
 * Runs the built library (tools/test.mjs builds it) in `folder`; resolves when the process is dead.
 * `beforeDeath` is called while it still lives and the server runs.
 */
export async function diedSuddenly(
  starter: 'startKafka' | 'startPostgres',
  options: object,
  { folder = ownLibrary, beforeDeath = () => undefined as void } = {},
): Promise<{ pid: number; url?: string }> {
  const args = [join(folder, 'plain', 'victim.mjs'), starter, JSON.stringify(options)];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([once(lines, 'line'), exited.then(() => null)]);
  if (first === null) throw new Error(`${starter} failed in the process that was to be killed`);
  const started = JSON.parse(String(first[0])) as { pid: number; url?: string };
  beforeDeath();
  child.kill('SIGKILL');
  await exited;
  return started;
}
