/** Writes the files of exports in the background. */
import {
  type BeforeApplicationShutdown,
  Inject,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import type { ExportKind } from '@pis/contracts';
import type { DocumentStore } from '@pis/documents';
import { ExportFiles, ExportWorker, pieceSources } from '@pis/exports';
import type { EventStore } from '@pis/event-store';
import type { Keyring } from '@pis/keyring';
import {
  firstHeldStreamOf,
  type NeededStreams,
  type ProjectionProgress,
  projectionReach,
} from '@pis/read-models';
import {
  EVENT_STORE,
  KEYRING,
  LOGGER,
  type Logger,
  PG_POOL,
  Repeating,
  WAKE_UPS,
  type WakeUps,
} from '@pis/service-kit';
import type pg from 'pg';
import { DOCUMENTS } from '../documents.module.js';

const retryMs = 1_000;

const ofPayments = [['payments', 'payment']] as const;
/** Deliveries are written at once, without a projection. */
const neededFor: Readonly<Record<ExportKind, NeededStreams>> = {
  payments: ofPayments,
  fees: ofPayments,
  movements: [
    ['movements', 'payment'],
    ['movements', 'collection'],
  ],
  deliveries: [],
};

@Module({
  providers: [
    {
      provide: ExportWorker,
      inject: [PG_POOL, EVENT_STORE, DOCUMENTS, KEYRING, WAKE_UPS, LOGGER],
      useFactory: exportWorker,
    },
  ],
})
export class ExportsModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly repeating: Repeating;

  constructor(
    @Inject(ExportWorker) private readonly worker: ExportWorker,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(WAKE_UPS) wakeUps: WakeUps,
  ) {
    this.repeating = new Repeating({
      round: () => this.worker.round(),
      failed: (error) => {
        this.logger.warn({ err: error }, 'exports cannot be written now');
        return retryMs;
      },
      bell: wakeUps.for('exports').bell,
    });
  }

  onApplicationBootstrap(): void {
    this.repeating.start();
  }

  /** Another process goes on at once. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.repeating.stop();
    await this.worker.stop().catch((error: unknown) => {
      this.logger.warn({ err: error }, 'exports were left to wait for the end of their leases');
    });
  }
}

function exportWorker(
  pool: pg.Pool,
  store: EventStore,
  documents: DocumentStore,
  keyring: Keyring,
  wakeUps: WakeUps,
  logger: Logger,
): ExportWorker {
  const [payments, movements] = [
    projectionReach({ pool, store }, 'payments'),
    projectionReach({ pool, store }, 'movements'),
  ];
  const lists: Readonly<Record<ExportKind, ProjectionProgress | null>> = {
    payments,
    fees: payments,
    movements,
    deliveries: null,
  };
  return new ExportWorker({
    pool,
    files: new ExportFiles(pool, documents),
    sources: pieceSources(pool),
    idleMs: wakeUps.for('exports').idleMs,
    progressOf: (kind) => lists[kind],
    isHeld: async ({ kind, organizationId, originatorId }) => {
      const owner = { organizationId, originatorId };
      return (await firstHeldStreamOf({ pool, store }, neededFor[kind], owner)) !== null;
    },
    destroyKeys: (owners) => keyring.destroy(owners),
    onFailure: (error, exportId) => logger.warn({ exportId, err: error }, 'an export failed'),
    onRemovalFailure: (error, fileId) =>
      logger.warn({ fileId, err: error }, 'the file of an export cannot be removed now'),
  });
}
