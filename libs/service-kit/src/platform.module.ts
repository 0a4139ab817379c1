/**
 * What every app shares, provided once per process: event store, keyring, PostgreSQL pool, logger,
 * metrics and health. Global, so that an app's own module states only what is its own.
 */
import {
  type DynamicModule,
  Global,
  Inject,
  Module,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { type EventStore, systemContext } from '@pis/event-store';
import { createPool } from '@pis/postgres';
import type pg from 'pg';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { createEventStore, createKeyringFrom } from './composition.js';
import type { PlatformConfig } from './environment.js';
import { Health, HealthController, MetricsController } from './health.js';
import type { Logger } from './logging.js';
import { LogWatch } from './log-watch.js';
import { quarantineGauge } from './quarantine-metrics.js';
import { bindStore, type StoreCheck } from './store-binding.js';
import { StoreGate } from './store-gate.js';
import {
  EVENT_STORE,
  HEALTH,
  KEYRING,
  LOG_WATCH,
  LOGGER,
  METRICS,
  PG_POOL,
  STORE_CHECK,
} from './tokens.js';

export interface PlatformOptions {
  readonly app: string;
  readonly config: PlatformConfig;
  /** Where the read models are, and the event store when it is `postgres`. */
  readonly databaseUrl: string;
  readonly logger: Logger;
  /** Whether /metrics is served beside the API; never on a public port in production. */
  readonly servesMetrics: boolean;
  /** Whether strangers reach the port of the app. */
  readonly isPublic: boolean;
  /** Makes the event store, for example around the configured one. The configured one when absent. */
  readonly openStore?: OpenStore;
}

/** @param configured opens the store that the configuration names */
export type OpenStore = (configured: () => EventStore) => EventStore;

/** The event store's own connections: appends never wait behind queries. */
const STORE_POOL = Symbol('StorePool');

/** The default of 10 ms takes one percent of a core, also in an idle process. */
const eventLoopSampleMs = 100;

@Global()
@Module({})
export class PlatformModule
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  constructor(
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(PG_POOL) private readonly pool: pg.Pool,
    @Inject(STORE_POOL) private readonly storePool: pg.Pool,
    @Inject(LOG_WATCH) private readonly logWatch: LogWatch,
  ) {}

  static register(options: PlatformOptions): DynamicModule {
    const { app, config, databaseUrl, logger, openStore = (configured) => configured() } = options;
    const pool = createPool(databaseUrl, app, logger);
    const storePool = createPool(databaseUrl, `${app}-events`, logger);
    const rawStore = openStore(() => createEventStore(config, storePool, databaseUrl));
    const keyring = createKeyringFrom(config);
    const gate = new StoreGate();
    const store = gate.guardStore(rawStore);
    gate.guardPool(pool);
    const checkStores: StoreCheck = async ({ checkOnly = false } = {}) => {
      const { PIS_ENVIRONMENT: environment } = config;
      const by = systemContext(app);
      await bindStore({ store: rawStore, pool: storePool, environment, keyring, by, checkOnly });
      if (!checkOnly) gate.open();
    };
    const metrics = new Registry();
    metrics.setDefaultLabels({ app });
    collectDefaultMetrics({ register: metrics, eventLoopMonitoringPrecision: eventLoopSampleMs });
    quarantineGauge(metrics, pool, logger);
    const health = new Health({ isPublic: options.isPublic, logger });
    health.register('postgres', async () => {
      await storePool.query('SELECT 1');
    });
    const logWatch = new LogWatch({ store, pool, logger, metrics });
    health.register('event-store', async () => {
      await store.ping();
      logWatch.check();
    });
    return {
      module: PlatformModule,
      global: true,
      controllers: [HealthController, ...(options.servesMetrics ? [MetricsController] : [])],
      providers: [
        { provide: EVENT_STORE, useValue: logWatch.watched(store) },
        { provide: KEYRING, useValue: keyring },
        { provide: PG_POOL, useValue: pool },
        { provide: STORE_POOL, useValue: storePool },
        { provide: LOGGER, useValue: logger },
        { provide: METRICS, useValue: metrics },
        { provide: HEALTH, useValue: health },
        { provide: LOG_WATCH, useValue: logWatch },
        { provide: STORE_CHECK, useValue: checkStores },
      ],
      exports: [EVENT_STORE, KEYRING, PG_POOL, LOGGER, METRICS, HEALTH, LOG_WATCH, STORE_CHECK],
    };
  }

  onApplicationBootstrap(): void {
    this.logWatch.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.logWatch.stop();
  }

  /** After every app's own loops have ended (they end in beforeApplicationShutdown). */
  async onApplicationShutdown(): Promise<void> {
    await this.store.close();
    await Promise.all([this.storePool.end(), this.pool.end()]);
  }
}
