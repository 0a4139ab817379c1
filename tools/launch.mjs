/** Runs a child that never outlives this process, and detects that the parent of this process is gone. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  commandLine,
  parentOf,
  processIdentity,
  processWatch,
} from '../libs/local-servers/plain/process-identity.mjs';
import { commandEnv, node, root } from './workspace.mjs';

const leash = `${pathToFileURL(join(root, 'tools', 'leash.mjs'))}?launcher=${process.pid}`;
const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'];
const parentCheckMs = 500;

/** Starts a script on the chosen Node.js. It ends with this process. */
export function launch(args, { stdio, env }) {
  return spawn(node, ['--import', leash, ...args], {
    cwd: root,
    stdio: [...stdio, 'ipc'],
    env: { ...commandEnv(), ...env },
  });
}

/** Calls back at the first signal to end, and when the npm that runs this process was killed. */
export function whenToldToEnd(callback) {
  for (const signal of signals) process.on(signal, () => callback(signal));
  if (process.env.npm_lifecycle_event === undefined) return;
  const watched = starters().map((pid) => processWatch(pid, processIdentity(pid)));
  const timer = setInterval(() => {
    if (watched.every((isThere) => isThere())) return;
    clearInterval(timer);
    callback('SIGTERM');
  }, parentCheckMs);
  timer.unref();
}

/** The parent process. If that is only npm's shell, npm itself. */
function starters() {
  const parent = process.ppid;
  const isShell = /^\S*\bsh -c /.test(commandLine(parent) ?? '');
  const grandparent = isShell ? parentOf(parent) : null;
  return grandparent === null || grandparent <= 1 ? [parent] : [parent, grandparent];
}
