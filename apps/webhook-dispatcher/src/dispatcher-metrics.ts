/**
 * The metrics of deliveries. Labels hold no ids, because their number would grow with the clients. The
 * exception is the few endpoints that fail most, which operators look up.
 */
import { organizationCounter, readForScrape } from '@pis/service-kit';
import type { DeliveryResult, OutcomeClass } from '@pis/webhooks';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Backlog, Delivery } from '@pis/webhook-deliveries';
import type { Traffic } from './traffic.js';

export interface MetricsSources {
  readonly backlog: () => Promise<Backlog>;
  readonly traffic: Pick<Traffic, 'inFlight' | 'failing'>;
  readonly now: () => Date;
}

/** How old the numbers of the backlog may be. Counting reads the index of all pending deliveries. */
const backlogFreshForMs = 10_000;
const failingEndpointsMax = 20;

export function dispatcherMetrics(registry: Registry, sources: MetricsSources) {
  backlogMetrics(registry, sources);
  endpointMetrics(registry, sources);
  const attempts = new Counter({
    name: 'pis_webhook_attempts_total',
    help: 'Delivery attempts, by outcome: success, permanent or retry',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of ['success', 'permanent', 'retry']) attempts.inc({ outcome }, 0);
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
    buckets: [0.005, 0.01, 0.025, 0.05, 0.25, 1, 5, 60, 600, 3_600, 36_000],
    registers: [registry],
  });
  const firstAttemptSeconds = new Histogram({
    name: 'pis_webhook_first_attempt_seconds',
    help: 'Time from the event to its first attempt',
    buckets: [0.01, 0.05, 0.25, 1, 5, 10, 30, 60, 300, 3_600],
    registers: [registry],
  });
  const byOrganization = organizationCounter(registry, {
    name: 'pis_organization_webhook_attempts_total',
    help: 'Delivery attempts by organization and outcome: success, permanent or retry',
    label: 'outcome',
    values: ['success', 'permanent', 'retry'],
  });
  const tooOld = new Counter({
    name: 'pis_webhook_events_too_old_total',
    help: 'Events that came too late to know whether they had deliveries; they got none',
    registers: [registry],
  });
  return {
    eventTooOld: () => tooOld.inc(),
    observeAttempt(outcome: OutcomeClass, result: DeliveryResult, delivery: Delivery): void {
      const { organizationId, occurredAt, isReplay } = delivery;
      const ageMs = sources.now().getTime() - occurredAt.getTime();
      attempts.inc({ outcome });
      byOrganization(organizationId, outcome);
      attemptSeconds.observe({ outcome }, result.durationMs / 1000);
      if (delivery.attempts === 0 && !isReplay)
        firstAttemptSeconds.observe(Math.max(0, ageMs - result.durationMs) / 1000);
      // The event of a replay is long past.
      if (outcome === 'success' && !isReplay) deliverySeconds.observe(ageMs / 1000);
    },
  };
}

function backlogMetrics(registry: Registry, sources: MetricsSources): void {
  const backlog = readForScrape(sources.backlog, backlogFreshForMs);
  failingMetric(registry, backlog);
  new Gauge({
    name: 'pis_webhook_backlog',
    help: 'Deliveries pending, all dispatchers together, by state: due, waiting or leased; NaN while the database is away',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      const known = await backlog();
      this.set({ state: 'due' }, known?.due ?? Number.NaN);
      this.set({ state: 'waiting' }, known?.waiting ?? Number.NaN);
      this.set({ state: 'leased' }, known?.leased ?? Number.NaN);
    },
  });
  new Gauge({
    name: 'pis_webhook_oldest_due_seconds',
    help: 'How long the oldest delivery that is due has been so, by attempt: first or retry; 0 when none is',
    labelNames: ['attempt'],
    registers: [registry],
    async collect() {
      const known = await backlog();
      this.set({ attempt: 'first' }, known?.oldestFirstDueSeconds ?? Number.NaN);
      this.set({ attempt: 'retry' }, known?.oldestRetryDueSeconds ?? Number.NaN);
    },
  });
  new Gauge({
    name: 'pis_webhook_oldest_day_seconds',
    help: 'Age of the oldest day of finished deliveries that is kept',
    registers: [registry],
    async collect() {
      this.set((await backlog())?.oldestDaySeconds ?? Number.NaN);
    },
  });
  new Gauge({
    name: 'pis_webhook_days_ahead',
    help: 'Days to come that have their partitions, of the table that has the fewest',
    registers: [registry],
    async collect() {
      this.set((await backlog())?.daysAhead ?? Number.NaN);
    },
  });
}

function failingMetric(registry: Registry, backlog: () => Promise<Backlog | null>): void {
  new Gauge({
    name: 'pis_webhook_failing_endpoints',
    help: 'Endpoints that have failed for a day or longer and were tried within the last day, all dispatchers together',
    registers: [registry],
    async collect() {
      this.set((await backlog())?.failingEndpoints ?? Number.NaN);
    },
  });
}

function endpointMetrics(registry: Registry, { traffic }: MetricsSources): void {
  new Gauge({
    name: 'pis_webhook_in_flight',
    help: 'Attempts in flight',
    registers: [registry],
    collect() {
      this.set(traffic.inFlight);
    },
  });
  new Gauge({
    name: 'pis_webhook_ailing_endpoints',
    help: 'Endpoints that failed many times in a row and are tried at a low rate',
    registers: [registry],
    collect() {
      this.set(traffic.failing().filter(({ isUnhealthy }) => isUnhealthy).length);
    },
  });
  new Gauge({
    name: 'pis_webhook_endpoint_failures',
    help: `Failed attempts in a row, of the ${failingEndpointsMax} endpoints that have most of them`,
    labelNames: ['endpoint_id'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { endpointId, failures } of traffic.failing().slice(0, failingEndpointsMax))
        this.set({ endpoint_id: endpointId }, failures);
    },
  });
}
