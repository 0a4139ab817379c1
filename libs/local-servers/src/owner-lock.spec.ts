import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LockHeld, takeLock, waitForLock } from '../plain/owner-lock.mjs';
import { closeAfterEach } from './testing/close-after-each.js';

const atEnd = closeAfterEach();

const lockModule = pathToFileURL(join(import.meta.dirname, '../plain/owner-lock.mjs')).href;

function run(script: string, ...args: readonly string[]): ChildProcess {
  const code = `import { takeLock, waitForLock } from '${lockModule}';
    import { mkdirSync, rmdirSync } from 'node:fs';
    const args = process.argv.slice(1);\n${script}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  atEnd(() => child.kill('SIGKILL'));
  return child;
}

describe('a lock between processes', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'pis-lock-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is held by one process, which the others can see, until it is released', () => {
    const release = takeLock(folder, 'data');
    expect(() => takeLock(folder, 'data')).toThrow(LockHeld);
    expect(() => takeLock(folder, 'data')).toThrow(`held by process ${process.pid}`);
    takeLock(folder, 'other')();
    release();
    release();
    takeLock(folder, 'data')();
    expect(readdirSync(folder)).toHaveLength(2);
  });

  it('is free again when its owner was killed', async () => {
    const owner = run(
      `takeLock(args[0], 'data'); console.log('held'); setInterval(() => {}, 1e6);`,
      folder,
    );
    if (owner.stdout) await once(owner.stdout, 'data');
    expect(() => takeLock(folder, 'data')).toThrow(`held by process ${owner.pid}`);
    const ended = once(owner, 'exit');
    owner.kill('SIGKILL');
    await ended;
    takeLock(folder, 'data')();
  });

  it('makes others wait, up to their own limit', async () => {
    const release = takeLock(folder, 'data');
    await expect(waitForLock(folder, 'data', { timeoutMs: 0 })).rejects.toThrow(LockHeld);
    const waitingFor: number[] = [];
    const next = waitForLock(folder, 'data', {
      timeoutMs: 10_000,
      onWait: (pid) => {
        waitingFor.push(pid);
        release();
      },
    });
    (await next)();
    expect(waitingFor).toEqual([process.pid]);
  });

  it('never lets two in, although many compete and some die while they hold it', async () => {
    const crowd = Array.from({ length: 8 }, (_, index) =>
      run(
        `for (let round = 0; round < 12; round += 1) {
          const release = await waitForLock(args[0], 'data', { timeoutMs: 60_000 });
          mkdirSync(args[0] + '/inside'); // fails when somebody else is in
          rmdirSync(args[0] + '/inside');
          if (args[1] === 'dies' && round === 5) process.kill(process.pid, 'SIGKILL');
          release();
        }`,
        folder,
        index % 2 === 0 ? 'dies' : 'lives',
      ),
    );
    const ends = await Promise.all(crowd.map((child) => once(child, 'exit')));
    expect(ends.map(([code, signal]) => code ?? signal)).toEqual(
      crowd.map((_, index) => (index % 2 === 0 ? 'SIGKILL' : 0)),
    );
  }, 60_000);
});
