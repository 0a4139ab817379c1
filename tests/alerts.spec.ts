/** Checks the alerts of each area against its runbook, and with Prometheus' own tool. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { parse } from 'yaml';
import { rulesFolder } from './support/metric-names.js';
import { root, runCommand } from './support/process.js';

/** Each file of rules is one. Webhooks have their own spec, which uses a running system. */
const areas = readdirSync(rulesFolder)
  .flatMap((file) => /^(\w+)\.rules\.yaml$/.exec(file)?.[1] ?? [])
  .filter((area) => area !== 'webhooks');
/** On a busy machine. */
const toolLimitMs = 240_000;

interface Alert {
  readonly alert: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/**
 * Only Prometheus' own tool evaluates the rules as Prometheus does. It is no npm package, so where it is not installed
 * the cases are skipped, and the title says why.
 */
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
const whyNot = hasPromtool ? '' : ' (skipped: promtool is not on the PATH)';

describe.each(areas)('the alerts on the %s', (area) => {
  const rulesFile = path.join(rulesFolder, `${area}.rules.yaml`);
  const rulesTestFile = path.join(rulesFolder, `${area}.test.yaml`);
  const runbookPath = `docs/runbooks/${area}.md`;
  const { groups } = parse(readFileSync(rulesFile, 'utf8')) as {
    groups: { rules: (Alert | { readonly record: string })[] }[];
  };
  const alerts = groups.flatMap(({ rules }) => rules.filter((rule) => 'alert' in rule));

  it('each link to their section of the runbook, and have a test case in which they fire', () => {
    const runbook = readFileSync(path.join(root, runbookPath), 'utf8');
    const sections = [...runbook.matchAll(/^## (Pis\w+)$/gm)].map(([, name]) => name);
    expect(sections).toEqual(alerts.map(({ alert }) => alert));
    const cases = readFileSync(rulesTestFile, 'utf8');
    for (const { alert, annotations } of alerts) {
      expect(annotations['runbook_url']).toBe(`${runbookPath}#${alert.toLowerCase()}`);
      expect(cases).toContain(`alertname="${alert}"`);
    }
  });

  (hasPromtool ? it : it.skip)(
    `fire exactly when they should${whyNot}`,
    async () => {
      for (const args of [
        ['check', 'rules', rulesFile],
        ['test', 'rules', rulesTestFile],
      ]) {
        const { code, stdout, stderr } = await runCommand('promtool', args, { env: {}, cwd: '/' });
        const output = code === 0 ? '' : stdout + stderr;
        expect({ code, output }).toEqual({ code: 0, output: '' });
      }
    },
    toolLimitMs,
  );
});
