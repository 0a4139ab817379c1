import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { BankUnavailable, directBankConnection } from '@pis/bank-rails';
import { fileArchive } from '@pis/bank-rails/connections';
import { BankSimulator, BankSimulatorModule } from '@pis/bank-simulator/module';
import { until } from '@pis/local-servers/testing';
import { Bell } from '@pis/postgres';
import {
  EVENT_STORE,
  Health,
  HEALTH,
  KEYRING,
  LOG_WATCH,
  LOGGER,
  LogWatch,
  METRICS,
  MetricsRegistry,
  PG_POOL,
  type RailsConfig,
  WAKE_UPS,
} from '@pis/service-kit';
import { PaymentQueuedController } from './payment-queued.controller.js';
import { BANKS, onlyBank, RailExecutorModule } from './rail-executor.module.js';
import { confirmationTimeoutMs } from './rail-executor.js';
import { keyring, openWorld, type World } from './testing/world.js';

const rails: RailsConfig = { PIS_SANDBOX_RAIL_DELAY_MS: 0, PIS_RETENTION_YEARS: 7 };

describe('the executor as a Nest module', () => {
  let world: World;
  beforeEach(async () => {
    world = await openWorld();
  });
  afterEach(() => world.close());

  it('executes a payment with the simulated bank, deletes old bank files, and shuts down cleanly', async () => {
    const health = new Health();
    const closed: string[] = [];
    const wokenFor: string[] = [];
    const wakeUpFor = (kind: string) => {
      wokenFor.push(kind);
      return { bell: new Bell(), idleMs: () => 1 };
    };
    const provide = (token: symbol, value: unknown) => ({ provide: token, useValue: value });
    const metrics = new MetricsRegistry();
    const logWatch = new LogWatch({ ...world, metrics });
    logWatch.start();
    const platform = [
      provide(EVENT_STORE, world.store),
      provide(LOG_WATCH, logWatch),
      provide(KEYRING, keyring),
      provide(PG_POOL, world.pool),
      provide(LOGGER, world.logger),
      provide(HEALTH, health),
      provide(METRICS, metrics),
      provide(WAKE_UPS, { for: wakeUpFor }),
    ];
    class Platform {}
    Module({ providers: platform, exports: platform.map((given) => given.provide) })(Platform);
    class App {}
    Module({})(App);
    const executor = RailExecutorModule.register(
      { ...rails, PIS_ENVIRONMENT: 'sandbox' },
      {
        imports: [
          BankSimulatorModule.register({ ...rails, PIS_ENVIRONMENT: 'sandbox' }, { http: false }),
        ],
        banks: {
          provide: BANKS,
          useFactory: (simulator: BankSimulator) => {
            const connection = directBankConnection(simulator);
            const close = () => Promise.resolve(void closed.push('bank'));
            const unread = () => ({ reason: new BankUnavailable('no inbox'), sinceMs: 0 });
            const former = { name: 'former', rails: [], connection: { ...connection, unread } };
            return [...onlyBank({ ...connection, close }), former];
          },
          inject: [BankSimulator],
        },
      },
    );
    const archive = await archiveWithOldFile();
    const app = await NestFactory.createApplicationContext(
      { module: App, imports: [{ module: Platform, global: true }, executor] },
      { logger: false },
    );
    const message = await world.queue('0101');
    const context = { getDelivery: () => message.delivery };
    await app
      .get(PaymentQueuedController, { strict: false })
      .handle(message.value, context as Parameters<PaymentQueuedController['handle']>[1]);
    await until(async () => (await world.history(message.paymentId)).at(-1) === 'Returned', {
      timeoutMs: 20_000,
    });
    const { status, dependencies } = await health.readiness();
    expect(status).toBe('ready');
    expect(dependencies).toMatchObject({
      bank: { status: 'up' },
      'bank former (takes no new payments)': { status: 'down', reason: 'no inbox' },
    });
    const unread = await metrics.getSingleMetric('pis_rail_unread_seconds')?.get();
    expect(unread?.values).toEqual([
      { labels: { connection: 'bank' }, value: 0 },
      { labels: { connection: 'former' }, value: expect.any(Number) },
    ]);
    expect(unread?.values[1]?.value).toBeGreaterThan(0);
    await until(async () => (await archive.list({ max: 1 })).length === 0, { timeoutMs: 20_000 });
    await app.close();
    await logWatch.stop();
    expect(closed).toEqual(['bank']);
    expect(wokenFor).toEqual(['bankNotifications']);
  });

  /** The archive, with a file that is older than the retention period. */
  async function archiveWithOldFile() {
    const archive = fileArchive({ pool: world.pool, keyring });
    await archive.keep({
      ...({ connection: 'bank', rail: 'ACH', way: 'in', kind: 'nacha', name: 'old' } as const),
      segments: [{ bytes: Buffer.from('old'), owner: 'file', paymentId: null }],
    });
    await world.pool.query(`UPDATE rail_files SET created_at = created_at - interval '8 years'`);
    return archive;
  }

  it('does not start without a connection to a bank', () => {
    const config = { ...rails, PIS_ENVIRONMENT: 'production' } as const;
    expect(() => RailExecutorModule.register(config)).toThrow('PIS_BANKS_FILE');
    const withUrl = { ...config, PIS_BANK_URL: 'http://127.0.0.1:1' };
    expect(() => RailExecutorModule.register(withUrl)).toThrow('PIS_BANKS_FILE');
    const withFile = { ...config, PIS_BANKS_FILE: '/etc/pis/banks.yaml' };
    expect(() => RailExecutorModule.register(withFile)).not.toThrow();
    const sandbox = { ...withUrl, PIS_ENVIRONMENT: 'sandbox' } as const;
    expect(() => RailExecutorModule.register(sandbox)).not.toThrow();
  });

  it('never has a simulated bank in production, in any composition', () => {
    const config = { ...rails, PIS_ENVIRONMENT: 'production' } as const;
    for (const http of [true, false])
      expect(() => BankSimulatorModule.register(config, { http })).toThrow(
        'the simulated bank is for the sandbox',
      );
  });
});

describe('the normal time of a payment', () => {
  const sandbox = { ...rails, PIS_SANDBOX_RAIL_DELAY_MS: 300, PIS_ENVIRONMENT: 'sandbox' } as const;
  const production = { ...rails, PIS_ENVIRONMENT: 'production' } as const;

  const fromMs = Date.parse('2026-11-27T17:00:00.000Z');

  it('is two seconds and the simulated delay in the sandbox', () => {
    expect(confirmationTimeoutMs(sandbox, 'ACH', fromMs)).toBe(2_300);
  });

  it('is the rail’s own in production', () => {
    // From noon of a Friday in New York to the end of Tuesday.
    expect(confirmationTimeoutMs(production, 'ACH', fromMs)).toBe(108 * 3_600_000);
    expect(confirmationTimeoutMs(production, 'RTP', fromMs)).toBe(60_000);
  });

  it('is the configured time in both environments', () => {
    const set = { PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 77 };
    expect(confirmationTimeoutMs({ ...sandbox, ...set }, 'ACH', fromMs)).toBe(77);
    expect(confirmationTimeoutMs({ ...production, ...set }, 'SWIFT', fromMs)).toBe(77);
  });
});
