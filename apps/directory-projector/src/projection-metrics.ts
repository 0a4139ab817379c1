/**
 * Metrics of one projection. In an all-in-one the projectors share a registry, so a metric that is
 * there already is used, and the label tells the projections apart.
 */
import { Counter, Gauge, type Registry } from 'prom-client';

export interface ProjectionMetrics {
  applied(events: number): void;
  lag(events: number): void;
  /** For good: only a restart sets it back. */
  stopped(): void;
}

const label = 'projection';

export function projectionMetrics(registry: Registry, projection: string): ProjectionMetrics {
  const applied = counter(
    registry,
    'pis_projection_events_total',
    'Events written to the read models',
  );
  const lag = gauge(
    registry,
    'pis_projection_lag_events',
    'Events not yet in the read models, counted up to 1000',
  );
  const stopped = gauge(
    registry,
    'pis_projection_stopped',
    '1 when an event could not be applied: the projection waits for a person',
  );
  applied.inc({ [label]: projection }, 0);
  lag.set({ [label]: projection }, 0);
  stopped.set({ [label]: projection }, 0);
  return {
    applied: (events) => applied.inc({ [label]: projection }, events),
    lag: (events) => lag.set({ [label]: projection }, events),
    stopped: () => stopped.set({ [label]: projection }, 1),
  };
}

function counter(registry: Registry, name: string, help: string): Counter {
  const known = registry.getSingleMetric(name);
  if (known instanceof Counter) return known;
  return new Counter({ name, help, labelNames: [label], registers: [registry] });
}

function gauge(registry: Registry, name: string, help: string): Gauge {
  const known = registry.getSingleMetric(name);
  if (known instanceof Gauge) return known;
  return new Gauge({ name, help, labelNames: [label], registers: [registry] });
}
