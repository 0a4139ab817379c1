import 'reflect-metadata';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ids, paymentEvents } from '@pis/domain/testing';
import { type EventStore, memoryEventStore } from '@pis/event-store';
import { createTestDatabase, type TestDatabase, until } from '@pis/local-servers/testing';
import { appendEvents } from '@pis/read-models/testing';
import {
  createLogger,
  EVENT_STORE,
  Health,
  HEALTH,
  LOGGER,
  METRICS,
  PG_POOL,
} from '@pis/service-kit';
import pg from 'pg';
import { Registry } from 'prom-client';
import { PaymentsProjectorModule } from './payments-projector.module.js';

const timeoutMs = 10_000;

@Module({})
class Root {}

let database: TestDatabase;
let store: EventStore;
let pool: pg.Pool;
let health: Health;
let metrics: Registry;
let app: INestApplicationContext;

beforeEach(async () => {
  database = await createTestDatabase();
  store = memoryEventStore();
  pool = new pg.Pool({ connectionString: database.url, max: 3 });
  pool.on('error', () => undefined);
  health = new Health();
  metrics = new Registry();
  const providers = [
    { provide: EVENT_STORE, useValue: store },
    { provide: PG_POOL, useValue: pool },
    { provide: HEALTH, useValue: health },
    { provide: METRICS, useValue: metrics },
    { provide: LOGGER, useValue: createLogger('test', 'silent') },
  ];
  const tokens = providers.map(({ provide }) => provide);
  const platform = { module: Root, global: true, providers, exports: tokens };
  app = await NestFactory.createApplicationContext(
    { module: class {}, imports: [platform, PaymentsProjectorModule.register()] },
    { logger: false, abortOnError: false },
  );
});

afterEach(async () => {
  await app.close();
  await pool.end();
  await database.drop();
});

describe('the payments projector', () => {
  it('keeps the list up with the log until it is shut down', async () => {
    await appendEvents(store, `payment-${ids.payment}`, [
      paymentEvents.queued,
      paymentEvents.processing,
    ]);
    await until(async () => (await statuses())[0] === 'PROCESSING', { timeoutMs });
    expect((await health.readiness()).dependencies['projection:payments']).toEqual({
      status: 'up',
    });
    await until(
      async () =>
        /pis_projection_events_total\{projection="payments"\} 2/.test(await metrics.metrics()),
      { timeoutMs },
    );

    await app.close();
    await appendEvents(store, `payment-${ids.payment}`, [paymentEvents.completed]);
    expect(await statuses()).toEqual(['PROCESSING']);
    expect(pool.totalCount - pool.idleCount).toBe(0);
  });

  it('is unhealthy, and counted as stopped, at an event that it cannot apply', async () => {
    await appendEvents(store, `payment-${ids.payment}`, [paymentEvents.completed]);
    await until(async () => (await health.readiness()).status === 'unavailable', { timeoutMs });
    const { dependencies } = await health.readiness();
    expect(dependencies['projection:payments']?.reason).toMatch(/PaymentCompleted/);
    expect(await metrics.metrics()).toMatch(/pis_projection_stopped\{projection="payments"\} 1/);
  });
});

async function statuses(): Promise<readonly string[]> {
  const { rows } = await pool.query<{ status: string }>('SELECT status FROM payments');
  return rows.map(({ status }) => status);
}
