import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type Provider,
} from '@nestjs/common';
import { type BankConnection, firstConnectionName, type NamedConnection } from '@pis/bank-rails';
import { httpBankConnection } from '@pis/bank-rails/http';
import { openRoutingDirectory } from '@pis/bank-rails/directory';
import { paymentRails } from '@pis/domain';
import type { EventStore } from '@pis/event-store';
import type { Keyring } from '@pis/keyring';
import type { WakeUps } from '@pis/postgres';
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
  WAKE_UPS,
} from '@pis/service-kit';
import type pg from 'pg';
import { achGauges } from './ach-metrics.js';
import { ArchiveUpkeep } from './archive-upkeep.js';
import { configuredBanks } from './configured-banks.js';
import { notificationGauges } from './notification-metrics.js';
import { pendingGauges } from './pending-metrics.js';
import { railGauges } from './rail-metrics.js';
import { PaymentQueuedController } from './payment-queued.controller.js';
import { RailExecutor, type RailExecutorConfig } from './rail-executor.js';
import { configuredReview } from './review/configured-review.js';
import { staffChannels } from './staff/staff-channels.js';

export { bankOver, type BankResources, type BankTransport } from './configured-banks.js';
export type { RailExecutorConfig } from './rail-executor.js';

/** The connections to banks (NamedConnection[]); closed by this module. */
export const BANKS = Symbol('Banks');

export interface RailExecutorModuleOptions {
  /** Provides BANKS; required unless PIS_BANKS_FILE or PIS_BANK_URL is set, and ignored when one is. */
  readonly banks?: Provider;
  /** Modules that `banks` injects from. */
  readonly imports?: DynamicModule['imports'];
}

@Module({})
export class RailExecutorModule
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  constructor(
    @Inject(RailExecutor) private readonly executor: RailExecutor,
    @Inject(ArchiveUpkeep) private readonly upkeep: ArchiveUpkeep,
    @Inject(BANKS) private readonly banks: readonly NamedConnection[],
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
        banksProvider(config, options),
        {
          provide: ArchiveUpkeep,
          useFactory: (pool: pg.Pool, store: EventStore, keyring: Keyring, logger: Logger) =>
            new ArchiveUpkeep({
              ...{ pool, store, keyring, logger },
              defaultRetentionYears: config.PIS_RETENTION_YEARS,
            }),
          inject: [PG_POOL, EVENT_STORE, KEYRING, LOGGER],
        },
        {
          provide: RailExecutor,
          useFactory: (
            store: EventStore,
            keyring: Keyring,
            pool: pg.Pool,
            banks: readonly NamedConnection[],
            logger: Logger,
            logWatch: LogWatch,
            wakeUps: WakeUps,
          ) => {
            const review = configuredReview(config, pool);
            if (config.PIS_ENVIRONMENT === 'production' && review.isEmpty)
              logger.warn(
                'PIS_REVIEW_RULES_FILE names no rules: the review lets every payment through',
              );
            return new RailExecutor({
              config,
              store,
              keyring,
              pool,
              banks,
              review,
              directory: openRoutingDirectory(pool, config.PIS_ENVIRONMENT),
              staff: staffChannels(config, {
                onMissed: (addresses) =>
                  logger.error({ addresses }, 'the mail server refuses addresses of staff'),
              }),
              logger,
              sameLog: (ending) => logWatch.sameLog('rail-executor', ending),
              notificationsWakeUp: wakeUps.for('bankNotifications'),
            });
          },
          inject: [EVENT_STORE, KEYRING, PG_POOL, BANKS, LOGGER, LOG_WATCH, WAKE_UPS],
        },
      ],
    };
  }

  onApplicationBootstrap(): void {
    achGauges(this.metrics, this.pool);
    notificationGauges(this.metrics, this.pool);
    pendingGauges(this.metrics, this.pool);
    railGauges(this.metrics, this.pool, this.executor);
    for (const bank of this.banks) {
      this.health.registerPartner(healthNameOf(bank), () => this.executor.checkBank(bank.name));
      bank.start?.();
    }
    this.executor.start();
    this.upkeep.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.executor.stop(), this.upkeep.stop()]);
  }

  /** Only now: messages in flight still need it while the consumers drain. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.banks.map(({ connection }) => connection.close()));
  }
}

/** @throws ConfigurationError without a connection to a bank */
function banksProvider(config: RailExecutorConfig, options: RailExecutorModuleOptions): Provider {
  const { PIS_BANKS_FILE: file, PIS_BANK_URL: baseUrl, PIS_ENVIRONMENT: environment } = config;
  if (file !== undefined)
    return {
      provide: BANKS,
      useFactory: (pool: pg.Pool, keyring: Keyring, logger: Logger) =>
        configuredBanks({ file, environment, env: process.env, pool, keyring, logger }),
      inject: [PG_POOL, KEYRING, LOGGER],
    };
  if (baseUrl !== undefined && environment === 'sandbox')
    return { provide: BANKS, useFactory: () => onlyBank(httpBankConnection({ baseUrl })) };
  if (options.banks === undefined)
    throw new ConfigurationError(['PIS_BANKS_FILE: required, there is no bank in this process']);
  return options.banks;
}

/** One connection for all rails. */
export function onlyBank(connection: BankConnection): readonly NamedConnection[] {
  return [{ name: firstConnectionName, rails: paymentRails, connection }];
}

/** The name of the only bank of older releases stays. A connection without rails is there for payments under way. */
function healthNameOf({ name, rails }: NamedConnection): string {
  const bank = name === firstConnectionName ? 'bank' : `bank ${name}`;
  return rails.length === 0 ? `${bank} (takes no new payments)` : bank;
}
