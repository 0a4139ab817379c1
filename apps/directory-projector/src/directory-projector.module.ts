/**
 * Directory projector: keeps the lists of originators, contacts, endpoints and keys in PostgreSQL up with the
 * event store, and takes erased parties out of every other table.
 */
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import type { EventStore } from '@pis/event-store';
import type { Keyring } from '@pis/keyring';
import { directoryProjection } from '@pis/read-models';
import {
  EVENT_STORE,
  KEYRING,
  LOGGER,
  type Logger,
  METRICS,
  type MetricsRegistry,
  PG_POOL,
  projectorOf,
  type WebhooksConfig,
} from '@pis/service-kit';
import type pg from 'pg';
import { erasureGauge } from './erasure-metrics.js';
import { ErasureWorker } from './erasure-worker.js';

export type DirectoryProjectorConfig = Pick<WebhooksConfig, 'PIS_WEBHOOK_TIMEOUT_MS'>;

@Module({})
export class DirectoryProjectorModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    @Inject(ErasureWorker) private readonly erasures: ErasureWorker,
    @Inject(METRICS) private readonly metrics: MetricsRegistry,
    @Inject(PG_POOL) private readonly pool: pg.Pool,
  ) {}

  static register(config: DirectoryProjectorConfig): DynamicModule {
    return {
      module: DirectoryProjectorModule,
      providers: [
        projectorOf(directoryProjection),
        {
          provide: ErasureWorker,
          inject: [EVENT_STORE, KEYRING, PG_POOL, LOGGER],
          useFactory: (store: EventStore, keyring: Keyring, pool: pg.Pool, logger: Logger) =>
            new ErasureWorker({
              store,
              pool,
              logger,
              destroyKeys: (owners) => keyring.destroy(owners),
              attemptMaxMs: config.PIS_WEBHOOK_TIMEOUT_MS,
            }),
        },
      ],
    };
  }

  onApplicationBootstrap(): void {
    erasureGauge(this.metrics, this.pool);
    this.erasures.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.erasures.stop();
  }
}
