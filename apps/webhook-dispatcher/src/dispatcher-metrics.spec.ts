import type { DeliveryResult } from '@pis/webhooks';
import { Registry } from 'prom-client';
import type { Backlog, Delivery } from '@pis/webhook-deliveries';
import { dispatcherMetrics, type MetricsSources } from './dispatcher-metrics.js';

const now = new Date('2026-11-21T10:00:00.000Z');
const empty: Backlog = {
  due: 0,
  waiting: 0,
  leased: 0,
  oldestFirstDueSeconds: 0,
  oldestRetryDueSeconds: 0,
  oldestDaySeconds: 0,
  daysAhead: 7,
  failingEndpoints: 0,
};
const idle = { inFlight: 0, failing: () => [] };

function metricsOf(sources: Partial<MetricsSources> = {}) {
  const registry = new Registry();
  const { observeAttempt } = dispatcherMetrics(registry, {
    backlog: () => Promise.resolve(empty),
    traffic: idle,
    now: () => now,
    ...sources,
  });
  return {
    observeAttempt,
    /** The lines of one metric, without its name. */
    async lines(name: string): Promise<string[]> {
      const text = await registry.getSingleMetricAsString(name);
      return text
        .split('\n')
        .filter((line) => line.startsWith(name))
        .map((line) => line.slice(name.length));
    },
  };
}

function failingEndpoints(count: number) {
  return Array.from({ length: count }, (_, n) => ({
    endpointId: `e${n}`,
    failures: 100 - n,
    isUnhealthy: n < 3,
  }));
}

const delivery = {
  occurredAt: new Date(now.getTime() - 20),
  organizationId: 'organization',
  attempts: 0,
  isReplay: false,
  redeliveryRequests: 0,
} as Delivery;
const result = { status: 200, durationMs: 15 } as DeliveryResult;

describe('The metrics of the dispatcher', () => {
  it('name the twenty endpoints that fail most, however many fail', async () => {
    let failing = failingEndpoints(1_000);
    const { lines } = metricsOf({ traffic: { inFlight: 3, failing: () => failing } });
    const shown = await lines('pis_webhook_endpoint_failures');
    expect(shown).toHaveLength(20);
    expect(shown[0]).toBe('{endpoint_id="e0"} 100');
    expect(shown[19]).toBe('{endpoint_id="e19"} 81');
    expect(await lines('pis_webhook_ailing_endpoints')).toEqual([' 3']);
    expect(await lines('pis_webhook_in_flight')).toEqual([' 3']);

    // One that answers again is gone from them.
    failing = failing.slice(1, 2);
    expect(await lines('pis_webhook_endpoint_failures')).toEqual(['{endpoint_id="e1"} 99']);
  });

  it('count attempts by outcome, and show every outcome from the start', async () => {
    const { lines, observeAttempt } = metricsOf();
    const counts = () => lines('pis_webhook_attempts_total');
    expect(await counts()).toEqual([
      '{outcome="success"} 0',
      '{outcome="permanent"} 0',
      '{outcome="retry"} 0',
    ]);
    observeAttempt('success', result, delivery);
    observeAttempt('retry', result, delivery);
    observeAttempt('retry', result, delivery);
    expect(await counts()).toEqual([
      '{outcome="success"} 1',
      '{outcome="permanent"} 0',
      '{outcome="retry"} 2',
    ]);
  });

  it('measure the time from the event to its delivery, except for replays', async () => {
    const { lines, observeAttempt } = metricsOf();
    observeAttempt('success', result, delivery);
    observeAttempt('success', result, { ...delivery, isReplay: true });
    observeAttempt('permanent', result, delivery);
    const shown = await lines('pis_webhook_delivery_seconds');
    expect(shown).toContain('_bucket{le="0.01"} 0');
    expect(shown).toContain('_bucket{le="0.025"} 1');
    expect(shown).toContain('_count 1');
  });

  it('measure the time from the event to its first attempt, whatever comes of it', async () => {
    const { lines, observeAttempt } = metricsOf();
    observeAttempt('retry', result, delivery);
    observeAttempt('success', result, { ...delivery, attempts: 1 });
    observeAttempt('success', result, { ...delivery, isReplay: true });
    const shown = await lines('pis_webhook_first_attempt_seconds');
    expect(shown).toContain('_bucket{le="0.01"} 1');
    expect(shown).toContain('_count 1');
  });

  it('count attempts by organization, with a bounded number of series', async () => {
    const { lines, observeAttempt } = metricsOf();
    for (let n = 0; n < 100; n += 1)
      observeAttempt('success', result, { ...delivery, organizationId: `o${n}` });
    const shown = await lines('pis_organization_webhook_attempts_total');
    expect(shown).toHaveLength(21);
    expect(shown).toContain('{organization="o0",outcome="success"} 1');
    expect(shown).toContain('{organization="other",outcome="success"} 80');
  });

  it('show what waits in each state and for how long, and how many days the tables have', async () => {
    const { lines } = metricsOf({
      backlog: () =>
        Promise.resolve({
          due: 1,
          waiting: 2,
          leased: 3,
          oldestFirstDueSeconds: 4,
          oldestRetryDueSeconds: 5,
          oldestDaySeconds: 6,
          daysAhead: 7,
          failingEndpoints: 8,
        }),
    });
    expect(await lines('pis_webhook_backlog')).toEqual([
      '{state="due"} 1',
      '{state="waiting"} 2',
      '{state="leased"} 3',
    ]);
    expect(await lines('pis_webhook_oldest_due_seconds')).toEqual([
      '{attempt="first"} 4',
      '{attempt="retry"} 5',
    ]);
    expect(await lines('pis_webhook_oldest_day_seconds')).toEqual([' 6']);
    expect(await lines('pis_webhook_days_ahead')).toEqual([' 7']);
    expect(await lines('pis_webhook_failing_endpoints')).toEqual([' 8']);
  });

  it('query the database once for many scrapes, and are NaN while it is unavailable', async () => {
    let asked = 0;
    const { lines } = metricsOf({
      backlog: () => {
        asked += 1;
        return Promise.reject(new Error('away'));
      },
    });
    for (let scrapes = 0; scrapes < 3; scrapes += 1)
      expect(await lines('pis_webhook_backlog')).toEqual([
        '{state="due"} Nan',
        '{state="waiting"} Nan',
        '{state="leased"} Nan',
      ]);
    expect(await lines('pis_webhook_days_ahead')).toEqual([' Nan']);
    expect(asked).toBe(1);
  });
});
