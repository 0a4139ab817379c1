/** A clone without installed or built files, and an npm that installs without a network. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { root } from './process.js';

/** Copies only the files under version control, as they are now, with their modes. */
export function freshClone(folder: string): string {
  const listed = spawnSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    {
      cwd: root,
      encoding: 'utf8',
    },
  );
  if (listed.status !== 0) throw new Error(`git ls-files: ${listed.stderr}`);
  for (const file of listed.stdout.split('\0')) {
    if (file === '' || !existsSync(path.join(root, file))) continue;
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    copy(path.join(root, file), path.join(folder, file));
  }
  return folder;
}

/** A link stays a link. */
function copy(from: string, to: string): void {
  if (lstatSync(from).isSymbolicLink()) symlinkSync(readlinkSync(from), to);
  else copyFileSync(from, to);
}

/**
 * A folder with an `npm` that records its calls in `asked`, and installs by linking to the packages of this
 * checkout. It cannot reach a registry.
 */
export function offlineNpm(folder: string, clone: string): { asked(): string[]; path: string } {
  mkdirSync(folder, { recursive: true });
  const log = path.join(folder, 'asked');
  const install = path.join(folder, 'install.mjs');
  writeFileSync(log, '');
  writeFileSync(install, `(${linkPackages.toString()})(${JSON.stringify({ root, clone })});\n`);
  const imports = `import { mkdirSync, readdirSync, symlinkSync, copyFileSync, existsSync } from 'node:fs';\nimport path from 'node:path';\n`;
  writeFileSync(install, imports + readFileSync(install, 'utf8'));
  const npm = path.join(folder, 'npm');
  writeFileSync(
    npm,
    `#!/bin/sh\necho "npm $*" >> '${log}'\n[ "$1" = ci ] && exec '${process.execPath}' '${install}'\nexit 0\n`,
  );
  chmodSync(npm, 0o755);
  const asked = () => readFileSync(log, 'utf8').split('\n').filter(Boolean);
  return { asked, path: `${folder}${path.delimiter}${process.env['PATH'] ?? ''}` };
}

/** Our packages come from the clone, all others from the checkout. */
function linkPackages({ root, clone }: { root: string; clone: string }): void {
  const modules = path.join(clone, 'node_modules');
  mkdirSync(path.join(modules, '@pis'), { recursive: true });
  for (const name of readdirSync(path.join(root, 'node_modules'))) {
    const from = path.join(root, 'node_modules', name);
    if (!['@pis', '.cache', '.package-lock.json'].includes(name))
      symlinkSync(from, path.join(modules, name));
  }
  // What npm says it has installed. The versions may be others: an earlier release runs with the packages of this one.
  copyFileSync(path.join(clone, 'package-lock.json'), path.join(modules, '.package-lock.json'));
  for (const kind of ['apps', 'libs'])
    for (const name of readdirSync(path.join(clone, kind))) {
      symlinkSync(path.join(clone, kind, name), path.join(modules, '@pis', name));
      const own = path.join(root, kind, name, 'node_modules');
      if (existsSync(own)) symlinkSync(own, path.join(clone, kind, name, 'node_modules'));
    }
}

/** A registry that has a package of every name, with a program of that name. */
export async function strangersRegistry(): Promise<{
  readonly url: string;
  readonly tarballs: readonly string[];
  close(): Promise<void>;
}> {
  const tarballs: string[] = [];
  const server = createServer((request, response) => {
    const url = request.url ?? '';
    if (url.endsWith('.tgz')) tarballs.push(url);
    const name = decodeURIComponent(url.slice(1));
    const { port } = server.address() as AddressInfo;
    const tarball = `http://127.0.0.1:${port}/${name}/-/${name}-1.0.0.tgz`;
    const version = { name, version: '1.0.0', bin: { [name]: 'x.js' }, dist: { tarball } };
    response.setHeader('Content-Type', 'application/json');
    response.end(
      JSON.stringify({ name, 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    tarballs,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
