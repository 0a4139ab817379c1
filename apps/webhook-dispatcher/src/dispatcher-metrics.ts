/** What is measured of deliveries. No label holds an id: their number would grow with the clients. */
import type { DeliveryResult, OutcomeClass } from '@pis/webhooks';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Delivery } from './delivery.js';

export interface MetricsSources {
  readonly backlog: () => Promise<number>;
  readonly inFlight: () => number;
  readonly now: () => Date;
}

/** How old the backlog's number may be: counting it reads the index of all that is pending. */
const backlogFreshForMs = 10_000;

export function dispatcherMetrics(registry: Registry, sources: MetricsSources) {
  const attempts = new Counter({
    name: 'pis_webhook_attempts_total',
    help: 'Delivery attempts, by outcome: success, permanent or retry',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const attemptSeconds = new Histogram({
    name: 'pis_webhook_attempt_seconds',
    help: 'Time to the response, or to the failure, of an attempt',
    labelNames: ['outcome'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 30],
    registers: [registry],
  });
  const deliverySeconds = new Histogram({
    name: 'pis_webhook_delivery_seconds',
    help: 'Time from the event to its successful delivery',
    buckets: [0.01, 0.05, 0.25, 1, 5, 60, 600, 3_600, 36_000],
    registers: [registry],
  });
  new Gauge({
    name: 'pis_webhook_in_flight',
    help: 'Attempts in flight',
    registers: [registry],
    collect() {
      this.set(sources.inFlight());
    },
  });
  const backlog = cachedBacklog(sources.backlog);
  new Gauge({
    name: 'pis_webhook_backlog',
    help: 'Deliveries pending, all dispatchers together; NaN while the database is away',
    registers: [registry],
    async collect() {
      this.set(await backlog());
    },
  });
  return {
    observeAttempt(outcome: OutcomeClass, result: DeliveryResult, delivery: Delivery): void {
      attempts.inc({ outcome });
      attemptSeconds.observe({ outcome }, result.durationMs / 1000);
      if (outcome === 'success')
        deliverySeconds.observe((sources.now().getTime() - delivery.occurredAt.getTime()) / 1000);
    },
  };
}

/** A scrape must not fail with the database, nor burden it: the last count serves for a while. */
function cachedBacklog(count: () => Promise<number>): () => Promise<number> {
  let known: Promise<number> | null = null;
  let countedAtMs = 0;
  return () => {
    if (known === null || performance.now() - countedAtMs > backlogFreshForMs) {
      countedAtMs = performance.now();
      known = count().catch(() => Number.NaN);
    }
    return known;
  };
}
