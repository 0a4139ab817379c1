/** docs/dependencies.md has a line for every direct third-party package, with its license, and no other. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));
const workspaces = ['apps', 'libs'].flatMap((folder) =>
  readdirSync(join(root, folder)).map((name) => join(root, folder, name)),
);
const folders = [root, ...workspaces].filter((folder) => existsSync(join(folder, 'package.json')));

/** Older packages list their licenses as objects. */
const licenseOf = ({ license, licenses }) =>
  license ?? licenses?.map(({ type }) => type).join(', ');

/** Package name to license: from the installed package, or from the lock file for other platforms. */
const licenseByName = new Map();
const locked = readJson(join(root, 'package-lock.json')).packages;
for (const folder of folders) {
  const manifest = readJson(join(folder, 'package.json'));
  const { dependencies = {}, devDependencies = {}, optionalDependencies = {} } = manifest;
  for (const name of Object.keys(optionalDependencies))
    licenseByName.set(name, locked[`node_modules/${name}`]?.license);
  for (const name of Object.keys({ ...dependencies, ...devDependencies })) {
    if (name.startsWith('@pis/')) continue;
    const places = [folder, root].map((place) => join(place, 'node_modules', name, 'package.json'));
    const installed = places.find(existsSync);
    licenseByName.set(
      name,
      installed === undefined ? 'not installed' : licenseOf(readJson(installed)),
    );
  }
}

const text = readFileSync(join(root, 'docs/dependencies.md'), 'utf8');
const rows = [...text.matchAll(/^\| `([^`]+)` +\| (.+?) +\| ([^|]+?) +\| (\S+) +\|$/gm)];

it('names every direct third-party package once, and no other', () => {
  expect(rows.map(([, name]) => name).toSorted()).toEqual([...licenseByName.keys()].toSorted());
});

it('states the license that each installed package states', () => {
  expect(Object.fromEntries(rows.map(([, name, , license]) => [name, license]))).toEqual(
    Object.fromEntries(licenseByName),
  );
});
