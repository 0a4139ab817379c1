/** Which metrics the rules and dashboards for operators name. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { root } from './process.js';

const chartFiles = path.join(root, 'helm/payment-initiation-service/files');
export const rulesFolder = path.join(chartFiles, 'prometheus');
export const dashboardsFolder = path.join(chartFiles, 'grafana');

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
}
interface Panel {
  readonly type: string;
  readonly title: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly targets?: readonly { readonly expr: string }[];
}
export interface Dashboard {
  readonly file: string;
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly Panel[];
}

export function rules(): readonly Rule[] {
  return readdirSync(rulesFolder)
    .filter((file) => file.endsWith('.rules.yaml'))
    .flatMap((file) => {
      const text = readFileSync(path.join(rulesFolder, file), 'utf8');
      const { groups } = parse(text) as { readonly groups: readonly { readonly rules: Rule[] }[] };
      return groups.flatMap((group) => group.rules);
    });
}

export function dashboards(): readonly Dashboard[] {
  const files = readdirSync(dashboardsFolder).filter((file) => file.endsWith('.json'));
  return files.map((file) => ({
    ...(JSON.parse(readFileSync(path.join(dashboardsFolder, file), 'utf8')) as Dashboard),
    file,
  }));
}

export function expressionsOf({ panels }: Dashboard): readonly string[] {
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

const notMetrics = new Set([
  ...['and', 'or', 'unless', 'by', 'without', 'on', 'ignoring', 'bool', 'offset'],
]);

/** The metrics in an expression of PromQL. */
export function metricsIn(expr: string): readonly string[] {
  const bare = expr
    .replaceAll(/"[^"]*"/g, '')
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/\b(by|without|on|ignoring)\s*\([^)]*\)/g, '');
  // A name before a parenthesis is a function, and what begins with a digit is a number or a duration.
  const names = [...bare.matchAll(/(?<![\w:])[a-zA-Z_:][\w:]*(?!\s*\(|[\w:])/g)].map(
    ([name]) => name,
  );
  return names.filter((name) => !notMetrics.has(name));
}

/** Every metric that a rule or a dashboard needs, and no rule records. */
export function neededMetrics(): ReadonlySet<string> {
  const all = rules();
  const recorded = new Set(all.map(({ record }) => record));
  const exprs = [...all.map(({ expr }) => expr), ...dashboards().flatMap(expressionsOf)];
  return new Set(exprs.flatMap(metricsIn).filter((name) => !recorded.has(name)));
}

/** The metrics on a page of /metrics, with the series of its histograms. */
export function exposedMetrics(page: string): readonly string[] {
  return [...page.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
}
