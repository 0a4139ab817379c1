import 'reflect-metadata';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { at, ids, originatorExample } from '@pis/domain/testing';
import { type EventStore, memoryEventStore } from '@pis/event-store';
import { createTestDatabase, type TestDatabase, until } from '@pis/local-servers/testing';
import { directoryQuery } from '@pis/read-models';
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
import { DirectoryProjectorModule } from './directory-projector.module.js';

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
    { module: class {}, imports: [platform, DirectoryProjectorModule.register()] },
    { logger: false, abortOnError: false },
  );
});

afterEach(async () => {
  await app.close();
  await pool.end();
  await database.drop();
});

describe('the directory projector', () => {
  it('keeps the lists up with the log', async () => {
    await appendEvents(store, `originator-${ids.originator}`, [
      { type: 'OriginatorCreated', at, data: originatorExample() },
    ]);
    const { originators } = directoryQuery(pool);
    await until(async () => (await originators(ids.organization)).items.length === 1, {
      timeoutMs,
    });
    expect((await health.readiness()).status).toBe('ready');
    expect(await metrics.metrics()).toMatch(/pis_projection_lag_events\{projection="directory"\}/);
  });
});
