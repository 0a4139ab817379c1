/** Process identity without /proc: ps, read in the same way by every process. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { processIdentity, processWatch } from '../plain/process-identity.mjs';
import { closeAfterEach } from './testing/close-after-each.js';

const atEnd = closeAfterEach();

const module = pathToFileURL(join(import.meta.dirname, '../plain/process-identity.mjs')).href;
const preload = pathToFileURL(
  join(import.meta.dirname, '../../../tests/support/without-linux.mjs'),
).href;

/** What the functions return about this process in a process without /proc. */
function withoutProc(expression: string, env: Record<string, string> = {}): unknown {
  const code = `import * as all from '${module}'; console.log(JSON.stringify(${expression}));`;
  const { stdout } = spawnSync(
    process.execPath,
    ['--import', preload, '--input-type=module', '-e', code],
    { encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '', ...env } },
  );
  return JSON.parse(stdout);
}

describe('a process', () => {
  it('has the same identity in every language and time zone', () => {
    const identity = `all.processIdentity(${process.pid})`;
    const here = withoutProc(identity);
    expect(here).toMatch(/\d\d:\d\d:\d\d \d{4}$/);
    const there = { TZ: 'Asia/Tokyo', LC_ALL: 'de_DE.UTF-8', LANG: 'de_DE.UTF-8' };
    expect(withoutProc(identity, there)).toBe(here);
    expect(withoutProc('all.parentOf(process.pid)')).toBe(process.pid);
    expect(withoutProc('all.processIdentity(2 ** 22 + 1)')).toBeNull();
  });

  it('is watched until it has ended', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)']);
    atEnd(() => child.kill('SIGKILL'));
    await once(child, 'spawn');
    const isThere = processWatch(child.pid ?? 0, processIdentity(child.pid ?? 0) ?? '');
    expect(isThere()).toBe(true);
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    expect(isThere()).toBe(false);
    expect(processWatch(process.pid, 'another one')()).toBe(false);
  });

  it('is watched without /proc, too', () => {
    const own = 'all.processWatch(process.pid, all.processIdentity(process.pid))()';
    expect(withoutProc(own)).toBe(true);
    expect(withoutProc("all.processWatch(process.pid, 'another one')()")).toBe(false);
    expect(withoutProc("all.processWatch(2 ** 22 + 1, 'gone')()")).toBe(false);
  });
});
