/** The folder that the image copies, made anew outside of the checkout, and the processes started from it. */
import { createHash } from 'node:crypto';
import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { madeOnce } from '@pis/local-servers/testing';
import {
  type CommandResult,
  readyLine,
  run,
  runCommand,
  type RunningProcess,
  startCommand,
} from './process.js';

export type Environment = Readonly<Record<string, string>>;

/** The bundle of this run of tests, which all files share. Nothing may write to it, and it is deleted with the run. */
export async function sharedBundle(): Promise<string> {
  const bundle = path.join(runFolder(), 'bundle');
  await madeOnce(bundle, bundleInto);
  return bundle;
}

/** A bundle of its own. The caller deletes the folder. */
export async function makeBundle(): Promise<string> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'pis-bundle-'));
  await bundleInto(folder);
  return folder;
}

function runFolder(): string {
  const folder = process.env['PIS_TEST_RUN_FOLDER'];
  if (folder === undefined) throw new Error('PIS_TEST_RUN_FOLDER is not set');
  return folder;
}

/** Most processes of a bundle load the same packages: Node.js keeps their compiled code beside the bundle, not in it. */
function compiled(): Environment {
  return { NODE_COMPILE_CACHE: path.join(runFolder(), 'bundle-compiled') };
}

/** `npm run bundle`. */
async function bundleInto(folder: string): Promise<void> {
  const { code, stderr } = await run(['tools/bundle.mjs', '--out', folder], {});
  if (code !== 0) throw new Error(`npm run bundle exited with ${String(code)}: ${stderr}`);
}

/** What a container runs: the entry of the image with the arguments of the container. */
export function runInBundle(
  bundle: string,
  args: readonly string[],
  env: Environment,
): Promise<CommandResult> {
  const command = [path.join(bundle, 'start.js'), ...args];
  return runCommand(process.execPath, command, { env: { ...compiled(), ...env }, cwd: bundle });
}

export function startInBundle(
  bundle: string,
  args: readonly string[],
  env: Environment,
): Promise<RunningProcess> {
  const command = [path.join(bundle, 'start.js'), ...args];
  return startCommand(process.execPath, command, {
    ...{ env: { ...compiled(), ...env }, cwd: bundle, readyLine },
  });
}

/** One line for each file: its path, what is in it, and its time. Links are not followed. */
export function contentsOf(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => {
      const file = path.join(entry.parentPath, entry.name);
      const name = path.relative(folder, file);
      if (entry.isSymbolicLink()) return `${name} -> ${readlinkSync(file)}`;
      const { mode, mtimeMs } = lstatSync(file);
      const digest = createHash('sha256').update(readFileSync(file)).digest('hex');
      return `${name} ${mode.toString(8)} ${String(mtimeMs)} ${digest}`;
    })
    .sort();
}

/** name@version of every package in the folder. */
export function packagesIn(folder: string): readonly string[] {
  const found = ['apps', 'libs'].flatMap((kind) =>
    readdirSync(path.join(folder, kind)).map((name) => path.join(folder, kind, name)),
  );
  for (const owner of [folder, ...found]) found.push(...packagesBelow(owner));
  const names = found.map((place) => {
    const text = readFileSync(path.join(place, 'package.json'), 'utf8');
    const { name, version } = JSON.parse(text) as { name: string; version: string };
    return `${name}@${version}`;
  });
  return [...new Set(names)].sort();
}

/** Folders of packages in node_modules, and in theirs. Links lead to our own projects. */
function packagesBelow(owner: string): readonly string[] {
  const modules = path.join(owner, 'node_modules');
  const places = foldersIn(modules).flatMap((name) =>
    name.startsWith('@')
      ? foldersIn(path.join(modules, name)).map((part) => path.join(modules, name, part))
      : [path.join(modules, name)],
  );
  return places.flatMap((place) => [place, ...packagesBelow(place)]);
}

function foldersIn(folder: string): readonly string[] {
  if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

/** The apps that run as a process. */
export function appsOf(bundle: string): readonly string[] {
  return readdirSync(path.join(bundle, 'apps')).filter(
    (app) =>
      app !== 'cli' &&
      lstatSync(path.join(bundle, 'apps', app, 'dist/main.js'), { throwIfNoEntry: false }) !==
        undefined,
  );
}
