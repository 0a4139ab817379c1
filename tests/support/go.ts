/**
 * Builds a Go program of tools/judges, or a published one. The binary is made once and kept in the cache below
 * node_modules. Where there is no Go, or no way to fetch the modules, it says why not.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { madeOnce } from '@pis/local-servers/testing';
import { root } from './process.js';

export type GoProgram =
  | { readonly path: string; readonly missing: null }
  | { readonly path: null; readonly missing: string };

/** Fetching the modules and building takes minutes on a busy machine, once. */
const buildLimitMs = 900_000;
/**
 * A program runs for some seconds in all, so only Go's own packages are optimized and nothing can be debugged: helm then
 * takes 110 s of CPU time to build instead of 165. All programs share what is built with the same flags.
 */
const buildFlags = [
  '-trimpath',
  '-gcflags=all=-N -l -dwarf=false',
  '-gcflags=std=-dwarf=false',
  '-ldflags=-s -w',
];
/** Where Go installs itself, beside what PATH names. */
const installedGo = '/usr/local/go/bin';

/** @param judge a folder of tools/judges */
export function goProgram(judge: string): Promise<GoProgram> {
  const folder = path.join(root, 'tools/judges', judge);
  const contents = readdirSync(folder).sort();
  return cached(
    judge,
    contents.map((name) => readFileSync(path.join(folder, name))),
    (draft) => go(['build', '-buildvcs=false', ...buildFlags, '-o', draft, '.'], { cwd: folder }),
  );
}

/** A published program at an exact version. Go checks what it fetches against its public log of checksums. */
export function goTool(name: string, source: string, version: string): Promise<GoProgram> {
  return cached(name, [`${source}@${version}`], (draft) => {
    const folder = `${draft}.bin`;
    try {
      const env = { GOBIN: folder };
      const made = go(['install', ...buildFlags, `${source}@${version}`], { cwd: root, env });
      if (made.ok) renameSync(path.join(folder, path.basename(source)), draft);
      return made;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

/**
 * Test files that need the same program at the same time wait for one build, which uses all cores.
 * @param parts what decides over the program, besides the version of Go
 */
async function cached(
  name: string,
  parts: readonly (string | Buffer)[],
  build: (draft: string) => Outcome,
): Promise<GoProgram> {
  const version = go(['version'], { cwd: root });
  if (!version.ok) return { path: null, missing: `no Go: ${version.reason}` };
  const digest = createHash('sha256').update(version.output);
  for (const part of parts) digest.update(part);
  const cache = path.join(root, 'node_modules/.cache/pis-judges');
  const program = path.join(cache, `${name}-${digest.digest('hex').slice(0, 16)}`);
  try {
    await madeOnce(program, (draft) => {
      const built = build(draft);
      if (!built.ok) throw new NotBuilt(built.reason);
    });
    return { path: program, missing: null };
  } catch (error) {
    if (!(error instanceof NotBuilt)) throw error;
    return { path: null, missing: `it cannot be built: ${error.message}` };
  }
}

class NotBuilt extends Error {
  override readonly name = 'NotBuilt';
}

type Outcome =
  | { readonly ok: true; readonly output: string }
  | { readonly ok: false; readonly reason: string };

function go(
  args: readonly string[],
  { cwd, env = {} }: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Outcome {
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
      ...env,
    },
  });
  if (status === 0) return { ok: true, output: stdout };
  return { ok: false, reason: error?.message ?? stderr.trim().split('\n').at(-1) ?? '' };
}
