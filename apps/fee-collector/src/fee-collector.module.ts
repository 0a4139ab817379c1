/**
 * Fee collector: closes the fees of each month that has ended, collects them, and keeps the lists of periods and
 * collections up with the event store.
 */
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { openRoutingDirectory } from '@pis/bank-rails/directory';
import type { EventStore } from '@pis/event-store';
import type { Keyring } from '@pis/keyring';
import { feesProjection } from '@pis/read-models';
import {
  EVENT_STORE,
  KEYRING,
  LOGGER,
  type Logger,
  METRICS,
  type MetricsRegistry,
  PG_POOL,
  type PlatformConfig,
  projectorOf,
} from '@pis/service-kit';
import type pg from 'pg';
import { feeGauges } from './fee-metrics.js';
import { FeeWorker } from './fee-worker.js';

export type FeeCollectorConfig = Pick<PlatformConfig, 'PIS_ENVIRONMENT'>;

@Module({})
export class FeeCollectorModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    @Inject(FeeWorker) private readonly worker: FeeWorker,
    @Inject(METRICS) private readonly metrics: MetricsRegistry,
    @Inject(PG_POOL) private readonly pool: pg.Pool,
  ) {}

  static register({ PIS_ENVIRONMENT: environment }: FeeCollectorConfig): DynamicModule {
    return {
      module: FeeCollectorModule,
      providers: [
        projectorOf(feesProjection),
        {
          provide: FeeWorker,
          inject: [EVENT_STORE, KEYRING, PG_POOL, LOGGER],
          useFactory: (store: EventStore, keyring: Keyring, pool: pg.Pool, logger: Logger) =>
            new FeeWorker({
              ...{ store, keyring, environment, logger, sources: { pool, store } },
              banks: openRoutingDirectory(pool, environment),
            }),
        },
      ],
    };
  }

  onApplicationBootstrap(): void {
    feeGauges(this.metrics, this.pool);
    this.worker.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.worker.stop();
  }
}
