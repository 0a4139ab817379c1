/** What an interrupted `npm test` leaves behind. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { until } from '@pis/local-servers/testing';
import { cleanEnv, root } from './support/process.js';
import { processesOf } from './support/processes.js';

const limitMs = 300_000;
const serverLimitMs = 120_000;
const goneLimitMs = 60_000;

let base: string;
beforeEach(() => {
  base = mkdtempSync(path.join(os.tmpdir(), 'pis-npm-test-'));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

/** Its folder is created before the files in it, and deleted by nobody but the run. */
function hasServer(): boolean {
  const [run] = readdirSync(base).filter((name) => name.startsWith('pis-test-'));
  if (run === undefined) return false;
  const [servers] = readdirSync(path.join(base, run)).filter((name) => name.startsWith('pis-'));
  if (servers === undefined) return false;
  return existsSync(path.join(base, run, servers, 'postgres/cluster/postmaster.pid'));
}

it(
  'SIGTERM leaves no server and no file behind',
  async () => {
    const args = ['tools/test.mjs', 'libs/postgres/src/singleton.pg.spec.ts'];
    const running = spawn(process.execPath, args, {
      cwd: root,
      env: cleanEnv({ TMPDIR: base }),
      stdio: 'ignore',
    });
    const exited = once(running, 'exit');
    await until(hasServer, { timeoutMs: serverLimitMs });
    running.kill('SIGTERM');
    expect(await exited).toEqual([130, null]);
    expect(readdirSync(base)).toEqual([]);
    // The guardian itself ends after its server.
    await until(() => processesOf(base).length === 0, { timeoutMs: goneLimitMs }).catch(() =>
      expect(processesOf(base)).toEqual([]),
    );
  },
  limitMs,
);
