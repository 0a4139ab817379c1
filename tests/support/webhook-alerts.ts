/** The alert rules on webhooks and their runbook, and checks that their metrics exist. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { rulesFolder } from './metric-names.js';
import { root } from './process.js';

export const rulesFile = path.join(rulesFolder, 'webhooks.rules.yaml');
export const rulesTestFile = path.join(rulesFolder, 'webhooks.test.yaml');
export const runbookPath = 'docs/runbooks/webhooks.md';

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export function readAlerts(): readonly Alert[] {
  const { groups } = parse(readFileSync(rulesFile, 'utf8')) as { groups: { rules: Alert[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

/** The alerts that a case in the test of the rules expects to fire. */
export function provenAlerts(): ReadonlySet<string> {
  const { tests } = parse(readFileSync(rulesTestFile, 'utf8'), { merge: true }) as RulesTest;
  const samples = tests.flatMap(({ promql_expr_test: checks }) =>
    checks.flatMap(({ exp_samples: expected }) => expected),
  );
  return new Set(samples.map(({ labels }) => /^{alertname="(\w+)"}$/.exec(labels)?.[1] ?? labels));
}

interface RulesTest {
  readonly tests: readonly {
    readonly promql_expr_test: readonly {
      readonly exp_samples: readonly { readonly labels: string }[];
    }[];
  }[];
}

export interface Runbook {
  /** The second-level headings that name an alert. */
  readonly sections: readonly string[];
  readonly queries: readonly string[];
  readonly metrics: readonly string[];
  /** The log messages that it quotes. */
  readonly logged: readonly string[];
}

export function readRunbook(): Runbook {
  const text = readFileSync(path.join(root, runbookPath), 'utf8');
  const all = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, found]) => found ?? '');
  return {
    sections: all(/^## (Pis\w+)$/gm),
    queries: all(/^ *```sql\n(.*?)```$/gms),
    metrics: all(/`(pis_\w+)`/g),
    logged: all(/`([a-z]+(?: [a-z]+)+)`/g),
  };
}

const loggingSources = ['apps/webhook-dispatcher/src', 'libs/service-kit/src'];

/** The sources that write the dispatcher's log, as one text. */
export function loggingSource(): string {
  const files = loggingSources.flatMap((folder) =>
    readdirSync(path.join(root, folder))
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'))
      .map((name) => path.join(root, folder, name)),
  );
  return files.map((file) => readFileSync(file, 'utf8')).join('\n');
}

/** The default of a variable in .env.example. */
export function defaultOf(variable: string): string | undefined {
  const text = readFileSync(path.join(root, '.env.example'), 'utf8');
  return new RegExp(`^#? ?${variable}=(.*)$`, 'm').exec(text)?.[1];
}

/** A line of /metrics. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

export async function scrape(url: string): Promise<Sample[]> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return [...text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)].map(([, name = '', labels = '']) => ({
    name,
    labels: Object.fromEntries(matchersOf(labels).map(({ label, value }) => [label, value])),
  }));
}

/**
 * The parts of an expression that no sample has: metrics, labels, and required values. Understands only the
 * PromQL that our rules use.
 */
export function missingIn(expr: string, samples: readonly Sample[]): string[] {
  const selectors = [...expr.matchAll(/\b(pis_\w+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', inner = '']) => ({ name, matchers: matchersOf(inner) }),
  );
  if (selectors.length === 0) return [`no metric of ours in ${expr}`];
  const asked = new Set(selectors.map(({ name }) => name));
  const ofMetric = samples.filter(({ name }) => asked.has(name));
  const missing = selectors.flatMap(({ name, matchers }) => {
    const series = ofMetric.filter((sample) => sample.name === name);
    if (series.length === 0) return [name];
    return matchers
      .filter(({ label, isEqual, value }) =>
        series.every(({ labels }) => (isEqual ? labels[label] !== value : !(label in labels))),
      )
      .map(({ label, value }) => `${name}{${label}="${value}"}`);
  });
  const ungrouped = groupLabelsOf(expr).filter((label) =>
    ofMetric.every(({ labels }) => !(label in labels)),
  );
  return [...missing, ...ungrouped.map((label) => `by (${label})`)];
}

/** The labels that an alert of the expression has. */
export function groupLabelsOf(expr: string): string[] {
  return [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(/, */));
}

function matchersOf(text: string) {
  return [...text.matchAll(/(\w+)(=|!=|=~|!~)"((?:[^"\\]|\\.)*)"/g)].map(
    ([, label = '', operator, value = '']) => ({ label, isEqual: operator === '=', value }),
  );
}
