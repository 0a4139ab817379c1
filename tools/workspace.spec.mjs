import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { matchesLock, root, stampOf } from './workspace.mjs';

describe('installing', () => {
  const lock = {
    packages: {
      '': { version: '1.0.0' },
      'libs/mine': { version: '1.0.0' },
      'node_modules/mine': { link: true },
      'node_modules/a': { version: '1.0.0' },
      'node_modules/for-mac': { version: '1.0.0', optional: true },
      'libs/mine/node_modules/a': { version: '2.0.0' },
    },
  };
  const installed = {
    packages: {
      'node_modules/a': { version: '1.0.0' },
      'libs/mine/node_modules/a': { version: '2.0.0' },
    },
  };

  it('is not needed when all but optional packages are there', () => {
    expect(matchesLock(lock, installed)).toBe(true);
  });

  it('is needed when a package is missing or of another version', () => {
    const { 'node_modules/a': _, ...missing } = installed.packages;
    expect(matchesLock(lock, { packages: missing })).toBe(false);
    const older = { ...installed.packages, 'libs/mine/node_modules/a': { version: '1.9.9' } };
    expect(matchesLock(lock, { packages: older })).toBe(false);
    const optional = { ...installed.packages, 'node_modules/for-mac': { version: '0.9.0' } };
    expect(matchesLock(lock, { packages: optional })).toBe(false);
  });
});

describe('building', () => {
  let folder;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'pis-stamp-'));
    for (const name of ['src/deep', 'dist', 'node_modules'])
      mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, 'src/deep/a.ts'), '1');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is stale after a source was changed, added or removed', () => {
    const before = stampOf(folder);
    expect(stampOf(folder)).toBe(before);
    writeFileSync(join(folder, 'src/deep/b.ts'), '');
    const added = stampOf(folder);
    expect(added).not.toBe(before);
    rmSync(join(folder, 'src/deep/b.ts'));
    expect(stampOf(folder)).toBe(before);
    utimesSync(join(folder, 'src/deep/a.ts'), 1, 1);
    expect(stampOf(folder)).not.toBe(before);
  });

  it('is not stale for a spec, or for what a build or an install made', () => {
    const before = stampOf(folder);
    for (const name of ['src/a.spec.ts', 'dist/a.js', 'node_modules/x.js'])
      writeFileSync(join(folder, name), '');
    expect(stampOf(folder)).toBe(before);
  });
});

describe('npm start', () => {
  it('names the apps there are when asked for one that is not', () => {
    const script = join(root, 'tools/start.mjs');
    for (const args of [['nonsense'], ['cli'], ['event-relay', 'api-gateway'], ['--help']]) {
      const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
        encoding: 'utf8',
      });
      expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
      expect(stderr).toMatch(/npm start -- APP runs one of: all-in-one, api-gateway/);
    }
  });
});
