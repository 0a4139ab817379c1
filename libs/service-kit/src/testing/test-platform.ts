/** For specs: the providers of PlatformModule, with an event store in memory and a separate database. */
import { type DynamicModule, type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type EventStore, memoryEventStore } from '@pis/event-store';
import type { Keyring } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import { Listener, WakeUps, workChannel } from '@pis/postgres';
import type pg from 'pg';
import { Registry } from 'prom-client';
import { Health } from '../health.js';
import { createLogger } from '../logging.js';
import { LogWatch } from '../log-watch.js';
import {
  EVENT_STORE,
  HEALTH,
  KEYRING,
  LOG_WATCH,
  LOGGER,
  METRICS,
  PG_POOL,
  WAKE_UPS,
} from '../tokens.js';

export interface TestPlatform {
  readonly app: INestApplicationContext;
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly keyring: Keyring;
  readonly health: Health;
  readonly metrics: Registry;
  /** Ends the app and drops its database. */
  close(): Promise<void>;
}

/** Each projection of an app holds one. */
const poolMax = 8;

/** A loop that is not woken waits longer than any test. */
const wakeUpsLimits = { idleMs: 3_600_000, idleWithoutListenMs: 5 };

@Module({})
class Platform {}

@Module({})
class Root {}

/** Starts `modules` as an app without HTTP server and consumers. */
export async function startOnTestPlatform(
  ...modules: readonly DynamicModule[]
): Promise<TestPlatform> {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, poolMax);
  const store = memoryEventStore();
  const keyring = await testKeyringOn(pool);
  const health = new Health();
  const metrics = new Registry();
  const logger = createLogger('test', 'silent');
  const logWatch = new LogWatch({ store, pool, logger, metrics });
  logWatch.start();
  const listener = new Listener({
    ...{ channels: [workChannel], connection: { connectionString: database.url } },
    ...{ retryInitialMs: 50, retryMaxMs: 2_000, connectTimeoutMs: 10_000, senders: pool },
  });
  listener.start();
  const providers = [
    { provide: EVENT_STORE, useValue: store },
    { provide: KEYRING, useValue: keyring },
    { provide: PG_POOL, useValue: pool },
    { provide: WAKE_UPS, useValue: new WakeUps(listener, wakeUpsLimits) },
    { provide: HEALTH, useValue: health },
    { provide: METRICS, useValue: metrics },
    { provide: LOGGER, useValue: logger },
    { provide: LOG_WATCH, useValue: logWatch },
  ];
  const exports = providers.map(({ provide }) => provide);
  const app = await NestFactory.createApplicationContext(
    { module: Root, imports: [{ module: Platform, global: true, providers, exports }, ...modules] },
    { logger: false, abortOnError: false },
  );
  return {
    app,
    store,
    pool,
    keyring,
    health,
    metrics,
    close: async () => {
      await app.close();
      await logWatch.stop();
      await listener.stop();
      await store.close();
      await pool.end();
      await database.drop();
    },
  };
}
