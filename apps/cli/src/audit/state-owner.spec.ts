import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ownState } from './state-owner.js';

const lockModule = pathToFileURL(
  path.resolve(import.meta.dirname, '../../../../libs/local-servers/plain/owner-lock.mjs'),
).href;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'pis-audit-state-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('a state file has one audit at a time, by whatever path it is named', () => {
  const file = path.join(folder, 'audit.state');
  const release = ownState(file);
  const link = `${folder}-link`;
  symlinkSync(folder, link);
  try {
    for (const name of [file, path.join(link, 'audit.state')])
      expect(() => ownState(name)).toThrow(/another audit uses it \(process \d+\)/);
    ownState(path.join(folder, 'other.state'))();
  } finally {
    rmSync(link);
  }
  release();
  ownState(file)();
});

it('an audit that was killed leaves its state file to the next one', async () => {
  const code = `import { takeLock } from '${lockModule}';
    takeLock(process.argv[1], 'audit.state.lock'); process.stdout.write('taken'); setInterval(() => {}, 1000);`;
  const killed = spawn(process.execPath, ['--input-type=module', '-e', code, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(killed, 'exit');
  const file = path.join(folder, 'audit.state');
  try {
    await once(killed.stdout, 'data');
    expect(() => ownState(file)).toThrow(`process ${killed.pid}`);
  } finally {
    killed.kill('SIGKILL');
    await ended;
  }
  ownState(file)();
});

it('a folder that is missing is refused, and not made', () => {
  const missing = path.join(folder, 'missing');
  expect(() => ownState(path.join(missing, 'audit.state'))).toThrow('it cannot be written');
  mkdirSync(missing);
});
