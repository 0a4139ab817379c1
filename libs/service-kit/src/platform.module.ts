/**
 * The shared parts of every app, provided once for each process: event store, keyring, PostgreSQL pool,
 * logger, metrics and health. Global, so that an app's module contains only its own parts.
 */
import {
  type DynamicModule,
  Global,
  Inject,
  Module,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { type EventStore, eventsChannel, systemContext } from '@pis/event-store';
import { createPool, Listener, poolSizes, sessionsOf, WakeUps, workChannel } from '@pis/postgres';
import type pg from 'pg';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { ClockWatch } from './clock-watch.js';
import { createEventStore, createKeyringFrom, directUrlOf, type OpenStore } from './composition.js';
import type { PlatformConfig } from './environment.js';
import { Health, HealthController, MetricsController } from './health.js';
import type { Logger } from './logging.js';
import { LogPartitions } from './log-partitions.js';
import { LogWatch } from './log-watch.js';
import { measurePools } from './pool-metrics.js';
import { quarantineGauge } from './quarantine-metrics.js';
import { bindStore, type StoreCheck } from './store-binding.js';
import { StoreGate } from './store-gate.js';
import { tracedStore } from './telemetry/traced-store.js';
import {
  EVENT_STORE,
  HEALTH,
  KEYRING,
  LOG_WATCH,
  LOGGER,
  METRICS,
  PG_POOL,
  STORE_CHECK,
  WAKE_UPS,
} from './tokens.js';

export interface PlatformOptions {
  readonly app: string;
  readonly config: PlatformConfig;
  /** The database of the read models, and of the event store if that is `postgres`. */
  readonly databaseUrl: string;
  readonly logger: Logger;
  /** Whether the app's port serves /metrics. A public port in production never does. */
  readonly servesMetrics: boolean;
  /** Whether the app's port is public. */
  readonly isPublic: boolean;
  /** Creates the event store, for example a wrapper of the configured one. Default: the configured one. */
  readonly openStore?: OpenStore;
}

/** Separate connections for the event store, so that appends never wait for queries. */
const STORE_POOL = Symbol('StorePool');

const listenerLimits = { retryInitialMs: 50, retryMaxMs: 2_000, connectTimeoutMs: 10_000 } as const;

const notHeard =
  'notifications of PostgreSQL do not arrive, so this process polls more often: behind a pooler in transaction mode, ' +
  'DATABASE_DIRECT_URL must name the server';

/** The default of 10 ms uses one percent of a core even in an idle process. */
const eventLoopSampleMs = 250;

@Global()
@Module({})
export class PlatformModule
  implements
    OnApplicationBootstrap,
    OnModuleDestroy,
    BeforeApplicationShutdown,
    OnApplicationShutdown
{
  constructor(
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(PG_POOL) private readonly pool: pg.Pool,
    @Inject(STORE_POOL) private readonly storePool: pg.Pool,
    @Inject(LOG_WATCH) private readonly logWatch: LogWatch,
    @Inject(LogPartitions) private readonly partitions: LogPartitions,
    @Inject(StoreGate) private readonly gate: StoreGate,
    @Inject(Listener) private readonly listener: Listener,
    @Inject(WAKE_UPS) private readonly wakeUps: WakeUps,
  ) {}

  static async register(options: PlatformOptions): Promise<DynamicModule> {
    const { app, config, databaseUrl, logger, openStore } = options;
    const directUrl = config.DATABASE_DIRECT_URL;
    const sizes = poolSizes(config.PIS_DATABASE_POOL);
    const pool = createPool(databaseUrl, app, logger, { max: sizes.queries, directUrl });
    const storePool = createPool(databaseUrl, `${app}-events`, logger, {
      max: sizes.store,
      directUrl,
    });
    const gate = new StoreGate();
    // On the connections of the event store: what is appended needs its key first.
    const keyring = createKeyringFrom(config, storePool, () => gate.pass());
    const listener = new Listener({
      channels: [eventsChannel, workChannel],
      connection: { connectionString: directUrlOf(config, databaseUrl) },
      ...listenerLimits,
      senders: storePool,
      onHearing(isHearing) {
        if (isHearing) logger.info('notifications of PostgreSQL arrive again');
        else logger.warn(notHeard);
      },
    });
    const rawStore = await createEventStore(config, storePool, listener, keyring, openStore);
    const guarded = gate.guardStore(rawStore);
    const isTraced = config.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined;
    const store = isTraced ? tracedStore(guarded) : guarded;
    gate.guardPool(pool);
    if (sessionsOf(pool) !== pool) gate.guardPool(sessionsOf(pool));
    const checkStores: StoreCheck = async ({ checkOnly = false } = {}) => {
      const { PIS_ENVIRONMENT: environment } = config;
      const by = systemContext(app);
      const stores = { store: rawStore, pool: storePool };
      await bindStore({ ...stores, environment, keyring, by, logger, checkOnly });
      if (!checkOnly) gate.open();
      await clocks.compare();
    };
    const metrics = new Registry();
    metrics.setDefaultLabels({ app });
    collectDefaultMetrics({ register: metrics, eventLoopMonitoringPrecision: eventLoopSampleMs });
    quarantineGauge(metrics, pool, logger);
    measurePools(metrics, { queries: pool, 'event-store': storePool });
    const health = new Health({ isPublic: options.isPublic, logger });
    const clocks = new ClockWatch({ pool: storePool, logger, metrics });
    health.registerStore('postgres', () => clocks.compare());
    const logWatch = new LogWatch({ store, pool, logger, metrics });
    const partitions = new LogPartitions({
      ...{ pool, logger, metrics, isUsed: config.PIS_EVENT_STORE === 'postgres' },
    });
    health.registerStore('event-store', async () => {
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
        { provide: Listener, useValue: listener },
        { provide: WAKE_UPS, useValue: new WakeUps(listener) },
        { provide: LOGGER, useValue: logger },
        { provide: METRICS, useValue: metrics },
        { provide: HEALTH, useValue: health },
        { provide: LOG_WATCH, useValue: logWatch },
        { provide: LogPartitions, useValue: partitions },
        { provide: StoreGate, useValue: gate },
        { provide: STORE_CHECK, useValue: checkStores },
      ],
      exports: [
        EVENT_STORE,
        KEYRING,
        PG_POOL,
        WAKE_UPS,
        LOGGER,
        METRICS,
        HEALTH,
        LOG_WATCH,
        STORE_CHECK,
      ],
    };
  }

  onApplicationBootstrap(): void {
    this.logWatch.start();
    this.partitions.start();
    if (this.wakeUps.areUsed) this.listener.start();
  }

  /** Before all loops are ended: one of them may wait for the stores. */
  onModuleDestroy(): void {
    this.gate.end();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.logWatch.stop(), this.partitions.stop()]);
  }

  /** Runs after the loops of all apps have ended, which end in beforeApplicationShutdown. */
  async onApplicationShutdown(): Promise<void> {
    await this.store.close();
    await Promise.all([this.listener.stop(), this.storePool.end(), this.pool.end()]);
  }
}
