import { jest } from '@jest/globals';
import { reportWebhooks } from './report.mjs';

const rate = { deliveries: 10, perSecond: 5_000, dispatcherCpuMs: 0.3, postgresCpuMs: 0.1 };
const results = {
  broker: 'kafka',
  envelopeBytes: 1_446,
  duplicates: 0,
  drained: rate,
  sustained: { ...rate, perSecond: 2_500, flushMs: 0.2 },
  aged: { ...rate, flushMs: 0.4, finished: 5_000_000, ratio: 0.98, cpuRatio: 1.03 },
  latency: { p50Ms: 2.5, p99Ms: 50, appended: { p50Ms: 1.6, p99Ms: 25 } },
  isolation: { p50Ms: 3, p99Ms: 125 },
};

function reported() {
  const log = jest.spyOn(console, 'log').mockImplementation(() => undefined);
  try {
    reportWebhooks(results);
    return log.mock.calls.map(([line]) => line);
  } finally {
    log.mockRestore();
  }
}

describe('the table of the webhooks', () => {
  it('shows each figure with its ratios to the goal and to two other services', () => {
    const rows = reported().map((line) => line.trim().split(/ {2,}/));
    expect(rows).toContainEqual(['WEBHOOKS', 'measured', ': goal', ': Svix', ': Outpost']);
    expect(rows).toContainEqual(['drained backlog: deliveries/s', '5,000', '2.00', '6.02', '4.07']);
    expect(rows).toContainEqual(['sustained: deliveries/s', '2,500', '1.00', '3.01', '2.03']);
    expect(rows).toContainEqual(['CPU of the dispatcher', '0.30 ms', '0.50', '0.15', '0.25']);
    expect(rows).toContainEqual(['append → receipt p50', '2.50 ms', '0.50', '0.78', '0.08']);
    expect(rows).toContainEqual(['append → receipt p99', '50.00 ms', '2.00', '5.95', '0.82']);
    expect(rows).toContainEqual(['once it is appended, p50', '1.60 ms', '0.32', '0.50', '0.05']);
    expect(rows).toContainEqual([
      'beside one that hangs, p99',
      '125.00 ms',
      '0.50',
      'never',
      'never',
    ]);
    expect(rows).toContainEqual(['ratio to a fresh database', '0.98']);
    expect(rows).toContainEqual(['ratio of the CPU of both', '1.03']);
    expect(rows).toContainEqual(['flush of the disk then', '0.20 ms']);
    expect(rows).toContainEqual(['flush of the disk now', '0.40 ms']);
  });
});
