/** Processes of the bench: the system's apps, helpers that serve, and loads that answer once. */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { root } from '../workspace.mjs';

const quickAndEmpty = { PIS_SHUTDOWN_DRAIN_MS: '0', PIS_DEMO_PAYMENTS: 'false' };

/** `npm start [-- app]`; url is where it listens. */
export async function startApp(app, env) {
  const args = [join(root, 'tools/start.mjs'), ...(app === null ? [] : [app])];
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...quickAndEmpty, PORT: '0', HOST: '127.0.0.1', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const ready = await Promise.race([
    readyLine(child),
    exited.then(([code]) => Promise.reject(new Error(`${app ?? 'all-in-one'} exited: ${code}`))),
  ]);
  return {
    url: ready.apiUrl ?? ready.url,
    ready,
    /** Of the launcher; the app is its child. */
    pid: child.pid,
    stop: async () => {
      if (child.exitCode === null) child.kill('SIGTERM');
      await exited;
    },
  };
}

async function readyLine(child) {
  for await (const line of createInterface({ input: child.stdout }))
    if (line.startsWith('{"ready":true')) return JSON.parse(line);
  throw new Error('stdout ended before the ready line');
}

/** A helper that stays; `hello` is its first message. */
export async function startHelper(file, args = [], nodeOptions = []) {
  const execArgv = [...process.execArgv, ...nodeOptions];
  const child = fork(join(import.meta.dirname, file), args, { execArgv });
  const exited = once(child, 'exit');
  const [hello] = await once(child, 'message');
  return {
    hello,
    child,
    stop: async () => {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}

/** A load that does one task in a process of its own and answers with its result. */
export async function measure(file, task, nodeOptions = []) {
  const execArgv = [...process.execArgv, ...nodeOptions];
  const child = fork(join(import.meta.dirname, file), { execArgv });
  child.send(task);
  const exited = once(child, 'exit');
  const result = await Promise.race([
    once(child, 'message').then(([message]) => message),
    exited.then(([code]) => Promise.reject(new Error(`${file} exited: ${code}`))),
  ]);
  await exited;
  return result;
}
