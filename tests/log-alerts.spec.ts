/** The alerts on the event log, held against their runbook and against Prometheus' own tool. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { parse } from 'yaml';
import { root, runCommand } from './support/process.js';

const rulesFile = path.join(root, 'deploy/prometheus/log.rules.yaml');
const rulesTestFile = path.join(root, 'deploy/prometheus/log.test.yaml');
const runbookPath = 'docs/runbooks/log.md';
const toolLimitMs = 60_000;

interface Alert {
  readonly alert: string;
  readonly annotations: Readonly<Record<string, string>>;
}

const { groups } = parse(readFileSync(rulesFile, 'utf8')) as { groups: { rules: Alert[] }[] };
const alerts = groups.flatMap(({ rules }) => rules);

it('each alert on the log leads to its section of the runbook, and has a case that fires it', () => {
  const runbook = readFileSync(path.join(root, runbookPath), 'utf8');
  const sections = [...runbook.matchAll(/^## (Pis\w+)$/gm)].map(([, name]) => name);
  expect(sections).toEqual(alerts.map(({ alert }) => alert));
  const cases = readFileSync(rulesTestFile, 'utf8');
  for (const { alert, annotations } of alerts) {
    expect(annotations['runbook_url']).toBe(`${runbookPath}#${alert.toLowerCase()}`);
    expect(cases).toContain(`alertname="${alert}"`);
  }
});

/** Skipped, and counted as skipped, where Prometheus' own tool is not installed. */
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
(hasPromtool ? it : it.skip)(
  'the alerts on the log fire when they should and at no other time',
  async () => {
    for (const args of [
      ['check', 'rules', rulesFile],
      ['test', 'rules', rulesTestFile],
    ]) {
      const { code, stdout, stderr } = await runCommand('promtool', args, { env: {}, cwd: '/' });
      expect({ code, output: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, output: '' });
    }
  },
  toolLimitMs,
);
