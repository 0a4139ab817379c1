import { jest } from '@jest/globals';
import { reportEventStores } from './report.mjs';

const store = {
  widths: {
    16: { appendsPerSecond: 831, createsPerSecond: 415.5, createsToAppends: 0.5 },
    64: { appendsPerSecond: 1_199, createsPerSecond: 359.7, createsToAppends: 0.3 },
  },
  one: { appendP50Ms: 6, createP50Ms: 24, inAppends: 4 },
  readsPerSecond: 1_260,
  lifecyclesPerSecond: 59,
  log: { eventsPerSecond: 12_000, rebuildEventsPerSecond: 2_551, rebuildToReading: 0.21 },
};

function reported(results) {
  const log = jest.spyOn(console, 'log').mockImplementation(() => undefined);
  try {
    reportEventStores(results);
    return log.mock.calls.map(([line]) => line.trim().split(/ {3,}/));
  } finally {
    log.mockRestore();
  }
}

describe('the table of the event stores', () => {
  it('shows a column for each store, and the goals beside the ratios', () => {
    const rows = reported({ PostgreSQL: { ...store, readsPerSecond: 9_000 }, server: store });
    expect(rows).toContainEqual(['EVENT STORE', 'PostgreSQL', 'server', 'goal']);
    expect(rows).toContainEqual(['client alone: appends/s, 16 callers', '831', '831']);
    expect(rows).toContainEqual(['client alone: appends/s, 64 callers', '1,199', '1,199']);
    expect(rows).toContainEqual(['client alone: append p50, 1 caller', '6.0 ms', '6.0 ms']);
    expect(rows).toContainEqual(['client alone: reads/s of one stream', '9,000', '1,260']);
    expect(rows).toContainEqual(['client alone: log, events/s', '12,000', '12,000']);
    expect(rows).toContainEqual(['creates/s, 16 callers', '416', '416']);
    expect(rows).toContainEqual([": the client's appends", '0.50', '0.50', '≥ 0.4']);
    expect(rows).toContainEqual([": the client's appends", '0.30', '0.30', '≥ 0.4']);
    expect(rows).toContainEqual([": the client's append", '4.00', '4.00', '≤ 2']);
    expect(rows).toContainEqual(['lifecycles/s', '59', '59', '≥ 200']);
    expect(rows).toContainEqual(['rebuild, events/s', '2,551', '2,551']);
    expect(rows).toContainEqual([": the client's reading", '0.21', '0.21', '≥ 0.6']);
  });
});
