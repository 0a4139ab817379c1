/**
 * Finds bundled Node.js versions and dependencies with known problems. Asks the registry through npm. A registry that
 * cannot be reached is a note, not a failure. `node tools/outdated.mjs` prints them, and exits with 1 if there are any.
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
    productionFindings(
      ask(['audit', '--json', '--package-lock-only', '--omit=dev']),
      explainedAdvisories(readFileSync(join(root, 'docs/dependencies.md'), 'utf8')),
    ),
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

/**
 * Packages in production, however deep, with a high or critical advisory. One that cannot reach us is explained in
 * docs/dependencies.md: its ID is the first word of a list item there.
 */
export function productionFindings(report, explained) {
  const { vulnerabilities } = report ?? {};
  if (typeof vulnerabilities !== 'object' || vulnerabilities === null)
    return { findings: [], notes: ['cannot check production: npm audit gave no answer'] };
  // Who only depends on an affected package names it. The package itself names the advisory.
  const advisories = Object.values(vulnerabilities).flatMap(({ name, via }) =>
    via
      .filter((cause) => grave.includes(cause.severity))
      .map(({ url = '', severity, title }) => ({
        id: url.split('/').at(-1),
        text: `${name}: ${severity}: ${title} (${url})`,
      })),
  );
  const [known, unknown] = [true, false].map((is) =>
    advisories.filter(({ id }) => explained.has(id) === is).map(({ text }) => text),
  );
  return {
    findings: unknown.map((text) => `${text}; update it, or explain it in docs/dependencies.md`),
    notes: known.map((text) => `${text}; explained in docs/dependencies.md`),
  };
}

export function explainedAdvisories(markdown) {
  return new Set([...markdown.matchAll(/^- (GHSA(?:-[a-z0-9]{4}){3}) /gm)].map(([, id]) => id));
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

if (import.meta.main) {
  const { findings, notes } = outdated();
  for (const line of [...notes, ...findings]) console.log(line);
  if (findings.length > 0) process.exitCode = 1;
}
