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
import { untilNextMs, type WakeUps } from '@pis/postgres';
import { type Projection, projectionReader, ProjectionRunner } from '@pis/read-models';
import type pg from 'pg';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Health } from './health.js';
import type { Logger } from './logging.js';
import type { LogWatch } from './log-watch.js';
import { heldLogger } from './quarantine-metrics.js';
import { EVENT_STORE, HEALTH, LOG_WATCH, LOGGER, METRICS, PG_POOL, WAKE_UPS } from './tokens.js';

/** How often the lag is measured. Each projection reads pages of the log for it, unless nothing was appended. */
const lagIntervalDefaultMs = 30_000;

/** The only provider in the module of a projector. */
export function projectorOf(
  projection: Projection,
  { lagIntervalMs = lagIntervalDefaultMs }: { readonly lagIntervalMs?: number } = {},
): FactoryProvider<Projector> {
  return {
    provide: Symbol(`Projector ${projection.name}`),
    useFactory: (...platform: ProjectorPlatform) =>
      new Projector(projection, lagIntervalMs, ...platform),
    inject: [EVENT_STORE, PG_POOL, LOGGER, METRICS, HEALTH, LOG_WATCH, WAKE_UPS],
  };
}

type ProjectorPlatform = [
  store: EventStore,
  pool: pg.Pool,
  logger: Logger,
  metrics: Registry,
  health: Health,
  logWatch: LogWatch,
  wakeUps: WakeUps,
];

export class Projector implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly runner: ProjectionRunner;
  private readonly metrics: ProjectionMetrics;
  private readonly logger: Logger;
  private readonly health: Health;
  private lagTimer: NodeJS.Timeout | undefined;
  private isMeasuring = false;

  constructor(
    projection: Projection,
    private readonly lagIntervalMs: number,
    ...platform: ProjectorPlatform
  ) {
    const [store, pool, logger, registry, health, logWatch, wakeUps] = platform;
    const reader = projectionReader(projection.name);
    this.logger = logger.child({ projection: projection.name });
    this.health = health;
    this.metrics = projectionMetrics(registry, projection.name);
    this.runner = new ProjectionRunner({
      projection,
      store,
      pool,
      wakeUp: wakeUps.for('locks'),
      sameLog: (ending) => logWatch.sameLog(reader, ending),
      onApplied: (events) => this.metrics.applied(events),
      onHeld: (cause) => heldLogger(this.logger)(reader, cause),
      onFailure: (err, stopped) => this.failed(err, stopped),
    });
  }

  onApplicationBootstrap(): void {
    this.health.register(`projection:${this.runner.name}`, () => this.runner.check());
    this.runner.start();
    this.measureLater();
  }

  /** At the same time as the other projections of this process: they ask for the end of the log together. */
  private measureLater(): void {
    this.lagTimer = setTimeout(() => {
      this.measureLater();
      void this.measure();
    }, untilNextMs(this.lagIntervalMs)).unref();
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearTimeout(this.lagTimer);
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

  /** One at a time. An unknown lag is shown as NaN: the last value would say that all is well. */
  private async measure(): Promise<void> {
    if (this.isMeasuring) return this.metrics.lag(NaN, NaN);
    this.isMeasuring = true;
    try {
      const events = await this.runner.lag();
      // Reading it costs another page, which an idle system saves.
      const at = events === 0 ? null : await this.runner.oldestUnappliedAt();
      this.metrics.lag(events, at === null ? 0 : Math.max(0, Date.now() - at.getTime()));
    } catch (err) {
      // /health/ready names the unavailable dependency.
      this.metrics.lag(NaN, NaN);
      this.logger.debug({ err }, 'lag not measured');
    } finally {
      this.isMeasuring = false;
    }
  }
}

interface ProjectionMetrics {
  applied(events: number): void;
  lag(events: number, oldestAgeMs: number): void;
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
  const oldest = gauge(
    registry,
    'pis_projection_oldest_event_seconds',
    'Age of the oldest event that is not yet in the read models; 0 without one',
  );
  const stopped = gauge(
    registry,
    'pis_projection_stopped',
    '1 when an event could not be applied: the projection waits for a person',
  );
  applied.inc(labels, 0);
  lag.set(labels, 0);
  oldest.set(labels, 0);
  stopped.set(labels, 0);
  return {
    applied: (events) => applied.inc(labels, events),
    lag: (events, oldestAgeMs) => {
      lag.set(labels, events);
      oldest.set(labels, oldestAgeMs / 1_000);
    },
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
