/**
 * Starts the system like on a Mac: without /proc, and only with the programs of every Unix. It does not test
 * PostgreSQL and Node.js on a real Mac.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { readyLine, root, run, type RunningProcess, startCommand } from './support/process.js';

const startLimitMs = 240_000;
/** Programs in /bin of every Unix. As root, the server uses a Linux-only program to change its user. */
const programs = ['sh', 'ps', 'id', ...(process.getuid?.() === 0 ? ['setpriv'] : [])];

let base: string;
let running: RunningProcess | null = null;

beforeAll(() => {
  base = mkdtempSync(path.join(os.tmpdir(), 'pis-mac-'));
  chmodSync(base, 0o755);
  mkdirSync(path.join(base, 'bin'));
  for (const name of programs) {
    const { stdout } = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
    symlinkSync(stdout.trim(), path.join(base, 'bin', name));
  }
});
afterAll(async () => {
  await running?.stop();
  rmSync(base, { recursive: true, force: true });
}, startLimitMs);

it(
  'npm start works without /proc and Linux tools, and ends cleanly',
  async () => {
    const preload = pathToFileURL(path.join(root, 'tests/support/without-linux.mjs')).href;
    const env = {
      PATH: path.join(base, 'bin'),
      NODE_OPTIONS: `--import=${preload}`,
      PIS_DATA_DIR: path.join(base, 'data'),
    };
    running = await startCommand(process.execPath, ['tools/start.mjs'], {
      env,
      cwd: root,
      readyLine,
    });
    const { apiUrl, apiKey } = running.ready;
    const answer = await fetch(`${String(apiUrl)}/v1/originators/`, {
      headers: { authorization: `Bearer ${String(apiKey)}` },
    });
    expect(answer.status).toBe(200);

    const second = await run(['tools/start.mjs'], env);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain('is in use by process');
    const status = await run(['apps/cli/bin/pis.mjs', 'projections', 'status', '--json'], env);
    expect({ code: status.code, stderr: status.stderr }).toEqual({ code: 0, stderr: '' });
    expect(await running.stop()).toBe(0);
  },
  startLimitMs,
);
