/** Statement generator: makes documents in the background, monthly statements and exports. */
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import type { DocumentStore } from '@pis/documents';
import type { EventStore } from '@pis/event-store';
import {
  type DocumentsConfig,
  EVENT_STORE,
  LOGGER,
  type Logger,
  METRICS,
  type MetricsRegistry,
  PG_POOL,
} from '@pis/service-kit';
import type pg from 'pg';
import { documentGauges } from './document-metrics.js';
import { DOCUMENTS, DocumentsModule } from './documents.module.js';
import { ExportsModule } from './exports/exports.module.js';
import { StatementWorker } from './statement-worker.js';

@Module({})
export class StatementGeneratorModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    @Inject(StatementWorker) private readonly worker: StatementWorker,
    @Inject(METRICS) private readonly metrics: MetricsRegistry,
    @Inject(PG_POOL) private readonly pool: pg.Pool,
  ) {}

  static register(config: DocumentsConfig): DynamicModule {
    return {
      module: StatementGeneratorModule,
      imports: [DocumentsModule.register(config), ExportsModule],
      providers: [
        {
          provide: StatementWorker,
          inject: [EVENT_STORE, PG_POOL, DOCUMENTS, LOGGER, METRICS],
          useFactory: (
            store: EventStore,
            pool: pg.Pool,
            documents: DocumentStore,
            logger: Logger,
            metrics: MetricsRegistry,
          ) => new StatementWorker({ store, pool, documents, logger, metrics }),
        },
      ],
    };
  }

  onApplicationBootstrap(): void {
    documentGauges(this.metrics, this.pool);
    this.worker.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.worker.stop();
  }
}
