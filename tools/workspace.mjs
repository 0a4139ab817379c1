/**
 * What start, test, check and bench have in common: install what is missing, build what is stale,
 * run on a Node of the supported line. Runs on any Node >= 20 with nothing installed; several at
 * once wait for each other. Everything it has to say goes to stderr.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { rmSync, writeFileSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { waitForLock } from '../libs/local-servers/plain/owner-lock.mjs';
import { currentChoice, isSupported, noNode } from './runtime.mjs';

export const root = join(import.meta.dirname, '..');
const cache = join(root, '.cache');
const lockTimeoutMs = 15 * 60_000;
const notSources = new Set(['dist', 'node_modules', 'generated']);

const chosen = currentChoice();
/** The Node that everything runs on. Where there is none, prepare() says so before anything is run. */
export const node = chosen?.path ?? process.execPath;

/** A command that did not end well; its output has been shown already. */
export class CommandFailed extends Error {
  constructor(command, code) {
    super(`${command} ended with ${code}`);
    this.name = 'CommandFailed';
  }
}

/** Where Node keeps compiled code: loading an app or a command takes a quarter less. One file per source file. */
export const compileCache = join(cache, 'compile');

/** Environment in which `node` is the chosen one and every installed command is ours. */
export function commandEnv(env = process.env) {
  const bin = join(root, 'node_modules', '.bin');
  const bundled = chosen?.isBundled ? [dirname(node)] : [];
  const PATH = [...bundled, bin, env.PATH ?? ''].join(delimiter);
  return { NODE_COMPILE_CACHE: compileCache, ...env, PATH };
}

/** Installs and builds `projects` (folders as in `libs/keyring`; all when not given) and what they import. */
export async function prepare(asked = allProjects()) {
  if (chosen === null) throw new Error(noNode());
  const projects = withDependencies(asked);
  if (isInstalled() && staleProjects(projects).length === 0) return;
  const onWait = (pid) => say(`waiting for process ${pid}, which installs or builds`);
  const release = await waitForLock(cache, 'workspace', { timeoutMs: lockTimeoutMs, onWait });
  try {
    if (!isInstalled()) await install();
    const stale = staleProjects(projects);
    if (stale.length > 0) await build(stale);
  } finally {
    release();
  }
}

/** Starts this script again on the chosen Node when it runs on one that is too old; never returns then. */
export async function continueOnSupportedNode() {
  if (isSupported(process.versions.node)) return;
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit', env: commandEnv() });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'])
    process.on(signal, () => child.kill(signal));
  const [code, signal] = await ended(child);
  process.exit(code ?? 128 + (signal === 'SIGINT' ? 2 : 15));
}

/** Resolves with [code, signal] of a child process. */
export function ended(child) {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve([code, signal]));
  });
}

/** Runs a command in the root; its output goes to stderr. */
export async function run(command, args, { env = {} } = {}) {
  const child = spawn(command, args, {
    cwd: root,
    stdio: ['ignore', process.stderr.fd, process.stderr.fd],
    env: { ...commandEnv(), ...env },
  });
  const [code, signal] = await ended(child);
  if (code !== 0) throw new CommandFailed([command, ...args].join(' '), code ?? signal);
}

export function say(text) {
  process.stderr.write(`${text}\n`);
}

export function allProjects() {
  return ['libs', 'apps'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => existsSync(join(root, folder, name, 'package.json')))
      .map((name) => `${folder}/${name}`),
  );
}

function withDependencies(projects) {
  const folders = new Map(allProjects().map((project) => [`@pis/${basename(project)}`, project]));
  const found = new Set(projects);
  for (const project of found) {
    const { dependencies = {} } = readJson(join(root, project, 'package.json'));
    for (const name of Object.keys(dependencies))
      if (folders.has(name)) found.add(folders.get(name));
  }
  return [...found];
}

/**
 * Whether node_modules holds what package-lock.json asks for, by the list that npm keeps of what it
 * installed. Optional packages (other platforms' binaries) may be missing, but not of another version.
 */
export function matchesLock(lock, installed) {
  return Object.entries(lock.packages).every(([path, wanted]) => {
    if (!path.includes('node_modules/') || wanted.link) return true;
    const found = installed.packages[path];
    return found === undefined ? wanted.optional === true : found.version === wanted.version;
  });
}

function isInstalled() {
  const installed = join(root, 'node_modules', '.package-lock.json');
  if (chosen?.isBundled && !existsSync(node)) return false;
  if (!existsSync(installed)) return false;
  return matchesLock(readJson(join(root, 'package-lock.json')), readJson(installed));
}

/**
 * Install scripts run only for the packages that package.json's `allowScripts` allows: older npm
 * versions do not know that field and would run all of them, Prisma's download included.
 */
async function install() {
  say('installing dependencies (npm ci)');
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', ['ci', '--ignore-scripts', '--include=dev', '--include=optional', ...quiet]);
  const { allowScripts } = readJson(join(root, 'package.json'));
  const allowed = Object.keys(allowScripts).filter((name) => allowScripts[name]);
  await run('npm', ['rebuild', ...allowed, ...quiet]);
  // The bundled Node's own link. npm would put it before the machine's Node in the PATH of every script.
  rmSync(join(root, 'node_modules/.bin/node'), { force: true });
  if (chosen?.isBundled && !existsSync(node)) throw new Error(noNode());
}

async function build(projects) {
  // Taken before the build: what changes meanwhile is stale afterwards.
  const stamps = projects.map((project) => [project, currentStamp(project)]);
  say(`building ${projects.length === allProjects().length ? 'everything' : projects.join(', ')}`);
  const names = projects.map((project) => `@pis/${basename(project)}`).join(',');
  const nx = ['run-many', '-t', 'build', '-p', names, '--output-style=static', '--parallel=3'];
  await run(node, [join(root, 'node_modules/.bin/nx'), ...nx], {
    env: { NX_DAEMON: 'false', NX_TUI: 'false' },
  });
  mkdirSync(join(cache, 'built'), { recursive: true });
  for (const [project, stamp] of stamps) {
    const file = stampFile(project);
    writeFileSync(`${file}.${process.pid}`, stamp);
    renameSync(`${file}.${process.pid}`, file);
  }
}

function staleProjects(projects) {
  return projects.filter((project) => {
    if (!existsSync(join(root, project, 'src'))) return false;
    if (!existsSync(join(root, project, 'dist')) || !existsSync(stampFile(project))) return true;
    return readFileSync(stampFile(project), 'utf8') !== currentStamp(project);
  });
}

/**
 * Names, sizes and times of what a build reads. Specs and what a build makes do not count. Nx decides what
 * to build; the stamps only tell whether anything can have changed since it was asked. Every `npm start` and
 * every `pis` wants to know, and Nx takes more than a second to answer, which is longer than most commands run.
 */
export function stampOf(folder, alsoReads = []) {
  const hash = createHash('sha256');
  for (const file of alsoReads) addFile(hash, file);
  addFolder(hash, folder);
  return hash.digest('hex');
}

function currentStamp(project) {
  const files = ['package-lock.json', '.swcrc', 'nx.json'].map((name) => join(root, name));
  return stampOf(join(root, project), files);
}

function addFolder(hash, folder) {
  const entries = readdirSync(folder, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (notSources.has(entry.name) || /\.spec\.tsx?$/.test(entry.name)) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) addFolder(hash, path);
    else addFile(hash, path);
  }
}

function addFile(hash, path) {
  const { size, mtimeMs } = statSync(path);
  hash.update(`${path} ${size} ${mtimeMs}\n`);
}

function stampFile(project) {
  return join(cache, 'built', project.replace('/', '-'));
}

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}
