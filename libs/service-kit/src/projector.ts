/**
 * A projector runs one projection while the app runs, and reports its state on /health/ready and in metrics.
 * In all-in-one several projectors share a registry: they share the metrics, and a label distinguishes the
 * projections.
 */
import type {
  BeforeApplicationShutdown,
  FactoryProvider,
  OnApplicationBootstrap,
} from '@nestjs/common';
import type { EventStore } from '@pis/event-store';
import { type Projection, projectionReader, ProjectionRunner } from '@pis/read-models';
import type pg from 'pg';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Health } from './health.js';
import type { Logger } from './logging.js';
import type { LogWatch } from './log-watch.js';
import { heldLogger } from './quarantine-metrics.js';
import { EVENT_STORE, HEALTH, LOG_WATCH, LOGGER, METRICS, PG_POOL } from './tokens.js';

/** How often the lag is measured. Each projection reads pages of the log for it, also in an idle system. */
const lagIntervalMs = 30_000;

/** The only provider in the module of a projector. */
export function projectorOf(projection: Projection): FactoryProvider<Projector> {
  return {
    provide: Symbol(`Projector ${projection.name}`),
    useFactory: (...platform: ProjectorPlatform) => new Projector(projection, ...platform),
    inject: [EVENT_STORE, PG_POOL, LOGGER, METRICS, HEALTH, LOG_WATCH],
  };
}

type ProjectorPlatform = [
  store: EventStore,
  pool: pg.Pool,
  logger: Logger,
  metrics: Registry,
  health: Health,
  logWatch: LogWatch,
];

export class Projector implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly runner: ProjectionRunner;
  private readonly metrics: ProjectionMetrics;
  private readonly logger: Logger;
  private readonly health: Health;
  private lagTimer: NodeJS.Timeout | undefined;
  private isMeasuring = false;

  constructor(projection: Projection, ...platform: ProjectorPlatform) {
    const [store, pool, logger, registry, health, logWatch] = platform;
    const reader = projectionReader(projection.name);
    this.logger = logger.child({ projection: projection.name });
    this.health = health;
    this.metrics = projectionMetrics(registry, projection.name);
    this.runner = new ProjectionRunner({
      projection,
      store,
      pool,
      sameLog: (ending) => logWatch.sameLog(reader, ending),
      onApplied: (events) => this.metrics.applied(events),
      onHeld: (cause) => heldLogger(this.logger)(reader, cause),
      onFailure: (err, stopped) => this.failed(err, stopped),
    });
  }

  onApplicationBootstrap(): void {
    this.health.register(`projection:${this.runner.name}`, () => this.runner.check());
    this.runner.start();
    this.lagTimer = setInterval(() => void this.measure(), lagIntervalMs).unref();
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.lagTimer);
    await this.runner.stop();
  }

  private failed(err: unknown, stopped: boolean): void {
    if (!stopped) {
      this.logger.warn({ err }, 'projection interrupted, trying again');
      return;
    }
    this.metrics.stopped();
    this.logger.error({ err }, 'projection stopped');
  }

  /** One at a time: it takes long while the projection is far behind. */
  private async measure(): Promise<void> {
    if (this.isMeasuring) return;
    this.isMeasuring = true;
    try {
      this.metrics.lag(await this.runner.lag());
    } catch (err) {
      // /health/ready names the unavailable dependency. The gauge keeps its last value.
      this.logger.debug({ err }, 'lag not measured');
    } finally {
      this.isMeasuring = false;
    }
  }
}

interface ProjectionMetrics {
  applied(events: number): void;
  lag(events: number): void;
  /** Permanent: only a restart resets it. */
  stopped(): void;
}

function projectionMetrics(registry: Registry, projection: string): ProjectionMetrics {
  const labels = { projection };
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
  applied.inc(labels, 0);
  lag.set(labels, 0);
  stopped.set(labels, 0);
  return {
    applied: (events) => applied.inc(labels, events),
    lag: (events) => lag.set(labels, events),
    stopped: () => stopped.set(labels, 1),
  };
}

const labelNames = ['projection'];

function counter(registry: Registry, name: string, help: string): Counter {
  const known = registry.getSingleMetric(name);
  if (known instanceof Counter) return known;
  return new Counter({ name, help, labelNames, registers: [registry] });
}

function gauge(registry: Registry, name: string, help: string): Gauge {
  const known = registry.getSingleMetric(name);
  if (known instanceof Gauge) return known;
  return new Gauge({ name, help, labelNames, registers: [registry] });
}
