/**
 * A Python environment with the pinned packages of a file of requirements, made once and kept in the cache
 * below node_modules. Where there is no Python, or nothing to install from, it says why not.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { root } from '../support/process.js';

export type PythonEnvironment =
  | { readonly python: string; readonly missing: null }
  | { readonly python: null; readonly missing: string };

/** With only a mirror that is slow this takes minutes, once. */
const installLimitMs = 300_000;
const schemathesis = 'tests/openapi/requirements.txt';

/** @param file below the root. If its packages have hashes, pip checks what it installs against them */
export function pythonEnvironment(
  file = schemathesis,
  cacheName = 'pis-schemathesis',
): PythonEnvironment {
  return environmentOf(path.join(root, file), path.join(root, 'node_modules/.cache', cacheName));
}

function environmentOf(requirements: string, cache: string): PythonEnvironment {
  const version = run('python3', ['-c', 'import ensurepip, sys, venv; print(sys.version)']);
  if (!version.ok) return missing(`no python3 with venv: ${version.reason}`);
  const digest = createHash('sha256').update(readFileSync(requirements)).update(version.output);
  const environment = path.join(cache, digest.digest('hex').slice(0, 16));
  const python = path.join(environment, 'bin/python');
  if (existsSync(python)) return { python, missing: null };

  // Elsewhere first: what is in its place is complete, whoever else installs at the same time.
  const draft = `${environment}.${process.pid}`;
  mkdirSync(cache, { recursive: true });
  try {
    const made = run('python3', ['-m', 'venv', draft]);
    if (!made.ok) return missing(`no virtual environment: ${made.reason}`);
    const installed = run(path.join(draft, 'bin/python'), [
      ...['-m', 'pip', 'install', '--quiet', '--no-input', '--disable-pip-version-check'],
      ...['--retries', '1', '--timeout', '15'],
      ...['--only-binary', ':all:', '--no-deps', '--requirement', requirements],
    ]);
    if (!installed.ok) return missing(`its packages cannot be installed: ${installed.reason}`);
    if (!existsSync(environment)) renameSync(draft, environment);
    return { python, missing: null };
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function missing(reason: string): PythonEnvironment {
  return { python: null, missing: reason };
}

type Outcome =
  | { readonly ok: true; readonly output: string }
  | { readonly ok: false; readonly reason: string };

/** With the whole environment: where to install from may be said there. */
function run(command: string, args: readonly string[]): Outcome {
  const { error, status, stdout, stderr } = spawnSync(command, args, {
    encoding: 'utf8',
    timeout: installLimitMs,
  });
  if (status === 0) return { ok: true, output: stdout };
  return { ok: false, reason: error?.message ?? stderr.trim().split('\n').at(-1) ?? '' };
}
