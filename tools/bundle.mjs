/**
 * `npm run bundle [-- --out FOLDER]`: makes the folder that the image copies (deploy/Dockerfile), in dist/bundle by default. It holds
 * the built apps and libraries, the packages that they need at run time, start.js, and the bill of materials. The same
 * sources make the same bytes.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { runtimeClosure } from './bundle/closure.mjs';
import { sbomOf } from './bundle/sbom.mjs';
import { allProjects, prepare, root, say } from './workspace.mjs';

/** What the code of a project reads at run time, besides its package.json and its build. */
const alsoRead = {
  'apps/bank-simulator': ['scenarios.yaml'],
  'apps/payment-pages': ['assets'],
  'libs/local-servers': ['plain'],
  'libs/read-models': ['prisma/migrations'],
};
/** Of our own code: what tests use. */
const forTests = /^(testing|testing\.js|.*\.spec\.js)$/;
/** Types and source maps: nothing reads them at run time. */
const notRead = /\.(d\.[cm]?ts|map|tsbuildinfo)$/;
/** Every file has this time, so that two bundles do not differ: the beginning of 1980, when ZIP files begin. */
const fileTimeSeconds = 315_532_800;

await main();

async function main() {
  const out = outputFolder(process.argv.slice(2));
  if (out === null) {
    say('usage: npm run bundle [-- --out FOLDER], with a folder that is new, empty or a bundle');
    process.exitCode = 64;
    return;
  }
  await prepare();
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  // First: a bundle that was not finished is known by it.
  for (const file of ['start.js', 'pis'])
    copyFileSync(join(root, 'tools/bundle', file), join(out, file));
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const apps = allProjects().filter((project) => project.startsWith('apps/'));
  const packages = runtimeClosure(lock, apps, (folder) => existsSync(join(root, folder)));
  for (const folder of packages)
    if (folder.includes('node_modules/')) copyPackage(folder, out);
    else copyProject(folder, out);
  addOwnFiles(lock, packages, out);
  setTimes(out);
  say(`${packages.length} packages in ${relative(process.cwd(), out) || '.'}`);
}

/** Never deletes a folder that something else is in. */
function outputFolder(args) {
  if (args.length === 0) return join(root, 'dist/bundle');
  const [flag, folder] = args;
  if (flag !== '--out' || folder === undefined || args.length > 2) return null;
  const out = resolve(folder);
  const isFree = !existsSync(out) || readdirSync(out).length === 0;
  return isFree || existsSync(join(out, 'start.js')) ? out : null;
}

function copyPackage(folder, out) {
  // Packages inside of it have entries of their own in the lock file.
  copy(join(root, folder), join(out, folder), (name) => name === 'node_modules');
}

function copyProject(folder, out) {
  const from = join(root, folder);
  const to = join(out, folder);
  copy(join(from, 'dist'), join(to, 'dist'), (name) => forTests.test(name));
  for (const extra of ['package.json', ...(alsoRead[folder] ?? [])])
    copy(join(from, extra), join(to, extra), () => false);
  const link = join(out, 'node_modules/@pis', basename(folder));
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(relative(dirname(link), to), link);
}

function addOwnFiles({ packages: locked }, packages, out) {
  const { name, version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const refs = packages.map((folder) => `${nameOf(folder, locked)}@${locked[folder].version}`);
  const write = (file, content) =>
    writeFileSync(join(out, file), `${JSON.stringify(content, null, 2)}\n`);
  write('package.json', { name, version, private: true, license, type: 'module' });
  write('sbom.cdx.json', sbomOf({ name, version }, new Set(refs)));
  copyFileSync(join(root, 'LICENSE'), join(out, 'LICENSE'));
}

/** The name of a package by its place in the lock file. An alias has its real name beside it. */
function nameOf(folder, locked) {
  return locked[folder].name ?? folder.slice(folder.lastIndexOf('node_modules/') + 13);
}

/** Copies a file, or a folder without what `isLeftOut` says, in the order of names. */
function copy(from, to, isLeftOut) {
  const entries = readdirSync(dirname(from), { withFileTypes: true });
  if (entries.find(({ name }) => name === basename(from))?.isFile()) {
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(from, to);
    return;
  }
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const { name } = entry;
    if (isLeftOut(name) || notRead.test(name)) continue;
    if (entry.isDirectory()) copy(join(from, name), join(to, name), isLeftOut);
    else if (entry.isFile()) copyFileSync(join(from, name), join(to, name));
  }
}

/** Folders last: what is made in them changes their time. */
function setTimes(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) setTimes(path);
    else if (entry.isFile()) utimesSync(path, fileTimeSeconds, fileTimeSeconds);
  }
  utimesSync(folder, fileTimeSeconds, fileTimeSeconds);
}
