import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type Provider,
} from '@nestjs/common';
import { type BankConnection, httpBankConnection } from '@pis/bank-rails';
import type { EventStore } from '@pis/event-store';
import type { Keyring } from '@pis/keyring';
import {
  ConfigurationError,
  EVENT_STORE,
  HEALTH,
  type Health,
  KEYRING,
  LOG_WATCH,
  LOGGER,
  type Logger,
  type LogWatch,
  METRICS,
  type MetricsRegistry,
  PG_POOL,
} from '@pis/service-kit';
import type pg from 'pg';
import { achGauges } from './ach-metrics.js';
import { notificationGauges } from './notification-metrics.js';
import { pendingGauges } from './pending-metrics.js';
import { PaymentQueuedController } from './payment-queued.controller.js';
import { RailExecutor, type RailExecutorConfig } from './rail-executor.js';
import { configuredReview } from './review/configured-review.js';

export type { RailExecutorConfig } from './rail-executor.js';

/** The connection to the bank (BankConnection); closed by this module. */
export const BANK_CONNECTION = Symbol('BankConnection');

export interface RailExecutorModuleOptions {
  /** Provides BANK_CONNECTION; required unless PIS_BANK_URL is set, and ignored when it is. */
  readonly bank?: Provider;
  /** Modules that `bank` injects from. */
  readonly imports?: DynamicModule['imports'];
}

@Module({})
export class RailExecutorModule
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  constructor(
    @Inject(RailExecutor) private readonly executor: RailExecutor,
    @Inject(BANK_CONNECTION) private readonly bank: BankConnection,
    @Inject(HEALTH) private readonly health: Health,
    @Inject(METRICS) private readonly metrics: MetricsRegistry,
    @Inject(PG_POOL) private readonly pool: pg.Pool,
  ) {}

  static register(
    config: RailExecutorConfig,
    options: RailExecutorModuleOptions = {},
  ): DynamicModule {
    return {
      module: RailExecutorModule,
      imports: options.imports ?? [],
      controllers: [PaymentQueuedController],
      providers: [
        bankProvider(config, options),
        {
          provide: RailExecutor,
          useFactory: (
            store: EventStore,
            keyring: Keyring,
            pool: pg.Pool,
            bank: BankConnection,
            logger: Logger,
            logWatch: LogWatch,
          ) =>
            new RailExecutor({
              config,
              store,
              keyring,
              pool,
              bank,
              review: configuredReview(config, pool),
              logger,
              sameLog: (ending) => logWatch.sameLog('rail-executor', ending),
            }),
          inject: [EVENT_STORE, KEYRING, PG_POOL, BANK_CONNECTION, LOGGER, LOG_WATCH],
        },
      ],
    };
  }

  onApplicationBootstrap(): void {
    achGauges(this.metrics, this.pool);
    notificationGauges(this.metrics, this.pool);
    pendingGauges(this.metrics, this.pool);
    this.health.register('bank', () => this.executor.checkBank());
    this.executor.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.executor.stop();
  }

  /** Only now: messages in flight still need it while the consumers drain. */
  async onApplicationShutdown(): Promise<void> {
    await this.bank.close();
  }
}

/** @throws ConfigurationError without a connection to a bank */
function bankProvider(config: RailExecutorConfig, options: RailExecutorModuleOptions): Provider {
  const baseUrl = config.PIS_BANK_URL;
  if (baseUrl !== undefined)
    return { provide: BANK_CONNECTION, useFactory: () => httpBankConnection({ baseUrl }) };
  if (options.bank === undefined)
    throw new ConfigurationError(['PIS_BANK_URL: required, there is no bank in this process']);
  return options.bank;
}
