import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { conventions } from './metric-conventions.js';
import { metricDataOf } from './otlp-metrics.js';

const now = new Date('2026-03-01T12:00:00.250Z');

async function exported(registry: Registry) {
  const metrics = await registry.getMetricsAsJSON();
  return metrics.flatMap((metric) => metricDataOf(metric, conventions('kafka'), now) ?? []);
}

describe('the registry over OTLP', () => {
  it('has histograms with the counts between their bounds, by the names of the conventions', async () => {
    const registry = new Registry();
    registry.setDefaultLabels({ app: 'api-gateway' });
    const histogram = new Histogram({
      name: 'http_server_request_duration_seconds',
      help: 'of requests',
      labelNames: ['http_route', 'http_response_status_code'],
      buckets: [0.1, 1],
      registers: [registry],
    });
    const created = { http_route: '/v1/payments', http_response_status_code: '201' };
    for (const seconds of [0.05, 0.5, 0.5, 3]) histogram.observe(created, seconds);
    const [metric] = await exported(registry);
    expect(metric).toMatchObject({
      descriptor: { name: 'http.server.request.duration', unit: 's' },
      aggregationTemporality: 1,
      dataPointType: 0,
      dataPoints: [
        {
          endTime: [Date.parse('2026-03-01T12:00:00Z') / 1_000, 250_000_000],
          attributes: { 'http.route': '/v1/payments', 'http.response.status_code': 201 },
          value: {
            buckets: { boundaries: [0.1, 1], counts: [1, 2, 1] },
            count: 4,
            sum: 4.05,
          },
        },
      ],
    });
    expect(metric?.dataPoints[0]?.attributes).not.toHaveProperty('app');
  });

  it('has counters as sums that only grow, and the broker of a message', async () => {
    const registry = new Registry();
    const published = new Counter({
      name: 'pis_relay_published_total',
      help: 'published',
      labelNames: ['topic'],
      registers: [registry],
    });
    published.inc({ topic: 'pis.payment-events.v1' }, 3);
    expect(await exported(registry)).toMatchObject([
      {
        descriptor: { name: 'messaging.client.sent.messages' },
        dataPointType: 3,
        isMonotonic: true,
        dataPoints: [
          {
            attributes: {
              'messaging.destination.name': 'pis.payment-events.v1',
              'messaging.system': 'kafka',
            },
            value: 3,
          },
        ],
      },
    ]);
  });

  it('leaves out what is unknown, and keeps other names', async () => {
    const registry = new Registry();
    const gauge = new Gauge({
      name: 'pis_webhook_oldest_due_seconds',
      help: 'age',
      labelNames: ['attempt'],
      registers: [registry],
    });
    gauge.set({ attempt: 'first' }, NaN);
    expect(await exported(registry)).toEqual([]);
    gauge.set({ attempt: 'retry' }, 5);
    expect(await exported(registry)).toMatchObject([
      {
        descriptor: { name: 'pis_webhook_oldest_due_seconds', unit: 's' },
        dataPointType: 2,
        dataPoints: [{ attributes: { attempt: 'retry' }, value: 5 }],
      },
    ]);
  });
});
