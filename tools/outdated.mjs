/**
 * Finds bundled Node.js versions and direct dependencies with known problems that a newer version fixes. Asks the
 * registry through npm. A registry that cannot be reached is a note, not a failure.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundledPackages, majorOf } from './runtime.mjs';
import { root } from './workspace.mjs';

const askTimeoutMs = 30_000;
/** A registry that cannot be reached is reported at once. */
const impatient = ['--fetch-retries=0', '--fetch-timeout=20000'];
const grave = ['high', 'critical'];

/** @returns {{ findings: string[], notes: string[] }} */
export function outdated(ask = askNpm) {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return combined([
    runtimeFindings(optionalDependencies, (name) => ask(['view', name, 'versions', '--json'])),
    advisoryFindings(ask(['audit', '--json', '--package-lock-only'])),
  ]);
}

/**
 * Releases of a Node.js line fix security problems. A bundled version is outdated if a newer one exists for all
 * platforms that bundle this line.
 */
export function runtimeFindings(bundled, versionsOf) {
  const lines = Map.groupBy(Object.values(bundledPackages), (name) => majorOf(bundled[name]));
  return combined(
    [...lines].map(([major, names]) => {
      const offered = names.map((name) => versionsOf(name));
      if (!offered.every(Array.isArray))
        return { findings: [], notes: [`cannot find out whether Node.js ${major} is outdated`] };
      const everywhere = offered.reduce((all, some) => all.filter((one) => some.includes(one)));
      const newest = everywhere
        .filter((one) => majorOf(one) === major)
        .toSorted(byVersion)
        .at(-1);
      const behind = names.filter((name) => newest && byVersion(bundled[name], newest) < 0);
      const describe = (name) => `${name} ${bundled[name]} is outdated: ${newest} exists`;
      return { findings: behind.map(describe), notes: [] };
    }),
  );
}

/** Direct dependencies in npm's report with a high or critical advisory that a newer version fixes. */
export function advisoryFindings(report) {
  const { vulnerabilities } = report ?? {};
  if (typeof vulnerabilities !== 'object' || vulnerabilities === null)
    return { findings: [], notes: ['cannot check for advisories: npm audit gave no answer'] };
  const direct = Object.values(vulnerabilities).filter(
    ({ isDirect, severity }) => isDirect && grave.includes(severity),
  );
  const describe = ({ name, severity, range, via }) => {
    const titles = via.map((cause) => cause.title ?? `through ${cause.name ?? cause}`);
    return `${name} (${range}): ${severity}: ${titles.join('; ')}`;
  };
  const isMended = ({ fixAvailable }) => fixAvailable !== false;
  return {
    findings: direct.filter(isMended).map((one) => `${describe(one)}; a newer version fixes it`),
    notes: direct
      .filter((one) => !isMended(one))
      .map((one) => `${describe(one)}; no version fixes it yet`),
  };
}

function combined(parts) {
  return {
    findings: parts.flatMap(({ findings }) => findings),
    notes: parts.flatMap(({ notes }) => notes),
  };
}

function byVersion(a, b) {
  return a.localeCompare(b, 'en', { numeric: true });
}

/** Null if npm prints no JSON. `npm audit` exits with 1 if it finds something. */
function askNpm(args) {
  const { stdout } = spawnSync('npm', [...args, ...impatient], {
    cwd: root,
    encoding: 'utf8',
    timeout: askTimeoutMs,
  });
  try {
    return JSON.parse(stdout);
  } catch {
    return null;
  }
}
