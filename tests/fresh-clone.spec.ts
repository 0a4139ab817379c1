/** The operator's command on a clone without installed packages: only our own code may run. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createTestDatabase } from '@pis/local-servers/testing';
import { freshClone, offlineNpm, strangersRegistry } from './support/fresh-clone.js';
import { root, runCommand } from './support/process.js';

// It builds the command and everything that it imports.
const buildLimitMs = 300_000;

let base: string;
let clone: string;
beforeEach(() => {
  base = mkdtempSync(path.join(os.tmpdir(), 'pis-clone-'));
  clone = freshClone(path.join(base, 'clone'));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

it(
  'the first command of the distributed way works, and asks npm for the locked packages only',
  async () => {
    const readme = readFileSync(path.join(root, 'README.md'), 'utf8');
    const [, distributed = ''] = readme.split('## The distributed way');
    const [first] = /^.*\bpis (?!=).*$/m.exec(distributed.replace(/^export .*$/gm, '')) ?? [];
    expect(first).toBe('./pis migrate');

    const npm = offlineNpm(path.join(base, 'bin'), clone);
    const database = await createTestDatabase();
    try {
      const env = { PATH: npm.path, DATABASE_URL: database.url };
      const { code, stdout, stderr } = await runCommand('sh', ['-c', `${first} --json`], {
        cwd: clone,
        env,
      });
      expect({ code, stdout, stderr: code === 0 ? '' : stderr }).toEqual({
        code: 0,
        stdout: '{"applied":[]}\n',
        stderr: '',
      });

      // As an operator has it in the PATH.
      const link = path.join(base, 'linked-pis');
      symlinkSync(path.join(clone, 'pis'), link);
      const linked = await runCommand(link, ['migrate', '--json'], { cwd: base, env });
      expect({ code: linked.code, stdout: linked.stdout }).toEqual({ code, stdout });
    } finally {
      await database.drop();
    }
    expect(npm.asked().map((line) => line.split(' ')[1])).toEqual(['ci', 'rebuild']);
    expect(npm.asked().join('\n')).not.toMatch(/\bpis\b/);
  },
  buildLimitMs,
);

it(
  'npx pis, out of habit, does not run the package that a stranger publishes under that name',
  async () => {
    const registry = await strangersRegistry();
    try {
      const { code, stderr } = await runCommand('npx', ['pis', 'migrate'], {
        cwd: clone,
        env: {
          npm_config_registry: registry.url,
          npm_config_userconfig: path.join(base, 'no-npmrc'),
          npm_config_cache: path.join(base, randomUUID()),
        },
      });
      expect(code).not.toBe(0);
      expect(stderr).toContain('canceled due to missing packages');
      expect(registry.tarballs).toEqual([]);
    } finally {
      await registry.close();
    }
  },
  buildLimitMs,
);
