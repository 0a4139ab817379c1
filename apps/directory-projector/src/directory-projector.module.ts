/**
 * Directory projector: keeps the lists of originators, contacts, endpoints and keys in PostgreSQL up with the
 * event store, takes erased parties out of every other table, and signs checkpoints of the log.
 */
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { AuditLog, noteSigner } from '@pis/audit';
import type { EventStore } from '@pis/event-store';
import type { Keyring } from '@pis/keyring';
import { directoryProjection } from '@pis/read-models';
import {
  type AuditKeyConfig,
  auditKeyFrom,
  EVENT_STORE,
  KEYRING,
  LOGGER,
  type Logger,
  METRICS,
  type MetricsRegistry,
  PG_POOL,
  projectorOf,
  WAKE_UPS,
  type WakeUps,
  type WebhooksConfig,
} from '@pis/service-kit';
import type pg from 'pg';
import { AuditWorker } from './audit-worker.js';
import { erasureGauge } from './erasure-metrics.js';
import { ErasureWorker } from './erasure-worker.js';

export type DirectoryProjectorConfig = Pick<WebhooksConfig, 'PIS_WEBHOOK_TIMEOUT_MS'> &
  AuditKeyConfig;

@Module({})
export class DirectoryProjectorModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    @Inject(ErasureWorker) private readonly erasures: ErasureWorker,
    @Inject(AuditWorker) private readonly audit: AuditWorker,
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
        {
          provide: AuditWorker,
          inject: [EVENT_STORE, PG_POOL, WAKE_UPS, LOGGER, METRICS],
          useFactory: (
            store: EventStore,
            pool: pg.Pool,
            wakeUps: WakeUps,
            logger: Logger,
            metrics: MetricsRegistry,
          ) => {
            const signer = noteSigner(auditKeyFrom(config));
            const audit = new AuditLog({ store, pool, signer });
            return new AuditWorker({ audit, wakeUp: wakeUps.for('audit'), logger, metrics });
          },
        },
      ],
    };
  }

  onApplicationBootstrap(): void {
    erasureGauge(this.metrics, this.pool);
    this.erasures.start();
    this.audit.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.erasures.stop(), this.audit.stop()]);
  }
}
