import { Registry } from 'prom-client';
import { organizationCounter } from './organization-counter.js';

const windowMs = 600_000;
const organizationsMax = 20;

describe('a counter by organization', () => {
  let now = 0;
  const registry = new Registry();
  const count = organizationCounter(
    registry,
    { name: 'requests_total', help: 'Requests', label: 'result', values: ['ok', 'failed'] },
    () => now,
  );
  const shown = async () => {
    const [metric] = await registry.getMetricsAsJSON();
    return Object.fromEntries(
      (metric?.values ?? []).map(({ labels, value }) => [
        `${labels['organization']} ${labels['result']}`,
        value,
      ]),
    );
  };

  it('has series of the first organizations, and one for all others', async () => {
    for (let n = 0; n < 10 * organizationsMax; n += 1) count(`org-${n}`, 'ok');
    const series = await shown();
    expect(Object.keys(series)).toHaveLength(organizationsMax + 1);
    expect(series['org-0 ok']).toBe(1);
    expect(series['other ok']).toBe(9 * organizationsMax);
  });

  it('gives a busy organization its own series in the next window, and drops an idle one', async () => {
    for (let n = 0; n < 5; n += 1) count('org-150', 'failed');
    expect((await shown())['org-150 failed']).toBeUndefined();
    now += windowMs;
    count('org-150', 'failed');
    const series = await shown();
    expect(series['org-150 failed']).toBe(1);
    expect(series['org-0 ok']).toBe(1);
    expect(series['org-19 ok']).toBeUndefined();
    // Nothing that was counted as others' is taken away: a counter must not fall.
    expect(series['other failed']).toBe(5);
    expect(Object.keys(series)).toHaveLength(organizationsMax + 2);
  });
});
