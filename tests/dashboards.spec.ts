/** The dashboards for Grafana. tests/tracing.spec.ts compares their metrics with those of running processes. */
import { dashboards, expressionsOf, metricsIn, rules } from './support/metric-names.js';

it('there are three dashboards, with ids and titles of their own', () => {
  expect(dashboards().map(({ file, uid, title }) => [file, uid, title])).toEqual([
    ['operator.json', 'pis-operator', 'PIS operator'],
    ['rails.json', 'pis-rails', 'PIS rails'],
    ['webhooks.json', 'pis-webhooks', 'PIS webhooks'],
  ]);
});

it.each(dashboards())(
  'every panel of $file asks for something, and covers no other',
  (dashboard) => {
    const taken = new Set<string>();
    for (const { type, title, gridPos, targets = [] } of dashboard.panels) {
      expect({ title, asks: targets.length > 0 }).toEqual({ title, asks: type !== 'row' });
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect({ title, place: [x, y], isFree: !taken.has(`${x},${y}`) }).toMatchObject({
            isFree: true,
          });
          taken.add(`${x},${y}`);
        }
      expect({ title, fits: gridPos.x + gridPos.w <= 24 }).toEqual({ title, fits: true });
    }
  },
);

it('the dashboards show every objective, and the rules record what they show', () => {
  const recorded = rules().flatMap(({ record }) => record ?? []);
  const shown = dashboards().flatMap(expressionsOf).flatMap(metricsIn);
  const ofRules = shown.filter((name) => name.includes(':'));
  expect(ofRules).toContain('pis:slo_errors:ratio_1h');
  for (const name of ofRules) expect(recorded).toContain(name);
});

it('metrics are found in expressions', () => {
  expect(
    metricsIn(
      'max by (reader) (pis_a{app="b"}) > 5 and on (slo) 2 * sum(rate(pis:c:ratio_5m[5m:1m] offset 15m)) unless pis_d == bool 1e3',
    ),
  ).toEqual(['pis_a', 'pis:c:ratio_5m', 'pis_d']);
});

it('no expression uses a label that Prometheus gives to its targets on Kubernetes', () => {
  // Prometheus renames such a label of ours to exported_…, and puts the target's in its place.
  const ofTargets = ['container', 'endpoint', 'job', 'namespace', 'node', 'pod', 'service'];
  const expressions = [...rules().map(({ expr }) => expr), ...dashboards().flatMap(expressionsOf)];
  const used = expressions.flatMap((text) => [
    ...[...text.matchAll(/\b(?:by|without|on|ignoring) *\(([^)]*)\)/g)].flatMap(([, names = '']) =>
      names.split(/ *, */),
    ),
    ...[...text.matchAll(/([a-z_]+) *(?:=~|!~|!=|=) *"/g)].map(([, name = '']) => name),
  ]);
  expect(used).toContain('reader');
  expect(used.filter((label) => ofTargets.includes(label))).toEqual([]);
});
