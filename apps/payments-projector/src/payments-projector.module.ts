/** Payments projector: keeps the lists of payments in PostgreSQL up with the event store. */
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import type { EventStore } from '@pis/event-store';
import {
  ProjectionRunner,
  type ProjectionRunnerOptions,
  paymentsProjection,
} from '@pis/read-models';
import {
  EVENT_STORE,
  HEALTH,
  type Health,
  LOGGER,
  type Logger,
  METRICS,
  PG_POOL,
} from '@pis/service-kit';
import type { Registry } from 'prom-client';
import { projectionMetrics, type ProjectionMetrics } from './projection-metrics.js';

type Pool = ProjectionRunnerOptions['pool'];

/** The lag is measured this often: it costs a page of the log. */
const lagIntervalMs = 5_000;

@Module({})
export class PaymentsProjectorModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly runner: ProjectionRunner;
  private readonly metrics: ProjectionMetrics;
  private lagTimer: NodeJS.Timeout | undefined;

  static register(): DynamicModule {
    return { module: PaymentsProjectorModule };
  }

  constructor(
    @Inject(EVENT_STORE) store: EventStore,
    @Inject(PG_POOL) pool: Pool,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(METRICS) registry: Registry,
    @Inject(HEALTH) private readonly health: Health,
  ) {
    const projection = paymentsProjection;
    this.metrics = projectionMetrics(registry, projection.name);
    this.runner = new ProjectionRunner({
      projection,
      store,
      pool,
      onApplied: (events) => this.metrics.applied(events),
      onFailure: (err, stopped) => {
        if (stopped) this.metrics.stopped();
        const told = { err, projection: projection.name };
        if (stopped) logger.error(told, 'projection stopped');
        else logger.warn(told, 'projection interrupted, trying again');
      },
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

  private async measure(): Promise<void> {
    try {
      this.metrics.lag(await this.runner.lag());
    } catch (err) {
      // The dependency that is away is named on /health/ready; the gauge keeps its last value.
      this.logger.debug({ err, projection: this.runner.name }, 'lag not measured');
    }
  }
}
