/**
 * Builds a Go program of tools/judges. The binary is made once and kept in the cache below node_modules. Where there is
 * no Go, or no way to fetch the modules, it says why not.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { root } from './process.js';

export type GoProgram =
  | { readonly path: string; readonly missing: null }
  | { readonly path: null; readonly missing: string };

/** Fetching the modules and building takes a minute on a busy machine, once. */
const buildLimitMs = 300_000;
/** Where Go installs itself, beside what PATH names. */
const installedGo = '/usr/local/go/bin';

/** @param judge a folder of tools/judges */
export function goProgram(judge: string): GoProgram {
  const folder = path.join(root, 'tools/judges', judge);
  const version = go(['version'], folder);
  if (!version.ok) return { path: null, missing: `no Go: ${version.reason}` };
  const digest = createHash('sha256').update(version.output);
  for (const name of readdirSync(folder).sort())
    digest.update(readFileSync(path.join(folder, name)));
  const cache = path.join(root, 'node_modules/.cache/pis-judges');
  const program = path.join(cache, `${judge}-${digest.digest('hex').slice(0, 16)}`);
  if (existsSync(program)) return { path: program, missing: null };

  // Elsewhere first: what is in its place is complete, whoever else builds at the same time.
  const draft = `${program}.${String(process.pid)}`;
  mkdirSync(cache, { recursive: true });
  try {
    const built = go(['build', '-buildvcs=false', '-trimpath', '-o', draft, '.'], folder);
    if (!built.ok) return { path: null, missing: `it cannot be built: ${built.reason}` };
    renameSync(draft, program);
    return { path: program, missing: null };
  } finally {
    rmSync(draft, { force: true });
  }
}

type Outcome =
  | { readonly ok: true; readonly output: string }
  | { readonly ok: false; readonly reason: string };

function go(args: readonly string[], cwd: string): Outcome {
  const { error, status, stdout, stderr } = spawnSync('go', args, {
    cwd,
    encoding: 'utf8',
    timeout: buildLimitMs,
    env: {
      ...process.env,
      PATH: `${process.env['PATH'] ?? ''}${path.delimiter}${installedGo}`,
      // Neither another version of Go nor a C compiler is fetched or needed.
      GOTOOLCHAIN: 'local',
      CGO_ENABLED: '0',
    },
  });
  if (status === 0) return { ok: true, output: stdout };
  return { ok: false, reason: error?.message ?? stderr.trim().split('\n').at(-1) ?? '' };
}
