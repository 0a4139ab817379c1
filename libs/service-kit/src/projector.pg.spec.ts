import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { ids, paymentEvents } from '@pis/domain/testing';
import { until } from '@pis/local-servers/testing';
import type { WakeUps } from '@pis/postgres';
import { directoryProjection, paymentsProjection, ProjectionRunner } from '@pis/read-models';
import { appendEvents } from '@pis/read-models/testing';
import { projectorOf } from './projector.js';
import { startOnTestPlatform, type TestPlatform } from './testing/test-platform.js';
import { WAKE_UPS } from './tokens.js';

const timeoutMs = 20_000;

@Module({ providers: [projectorOf(paymentsProjection)] })
class Payments {}

@Module({ providers: [projectorOf(directoryProjection)] })
class Directory {}

describe('two projectors in one process', () => {
  let platform: TestPlatform;

  beforeEach(async () => {
    platform = await startOnTestPlatform({ module: Payments }, { module: Directory });
  });
  afterEach(() => platform.close());

  it('keep the lists current until the app ends, and hold no connection afterwards', async () => {
    const { app, pool, health } = platform;
    await appendPayment('queued', 'processing');
    await until(async () => (await statuses())[0] === 'PROCESSING', { timeoutMs });
    // The other one may connect later.
    await until(async () => (await health.readiness()).status === 'ready', { timeoutMs });
    expect((await health.readiness()).dependencies).toEqual({
      'projection:payments': { status: 'up' },
      'projection:directory': { status: 'up' },
    });

    await app.close();
    await appendPayment('completed');
    expect(await statuses()).toEqual(['PROCESSING']);
    // What the store holds for the append is given back a moment later.
    await until(() => pool.totalCount === pool.idleCount, { timeoutMs });
  });

  it('wake a standby when the app ends, although it asks for its lock once an hour', async () => {
    const { app, pool, store } = platform;
    const wakeUp = app.get<WakeUps>(WAKE_UPS).for('locks');
    await until(() => wakeUp.idleMs() === 3_600_000, { timeoutMs });
    await appendPayment('queued');
    await until(async () => (await statuses())[0] === 'QUEUED', { timeoutMs });
    const standby = new ProjectionRunner({ projection: paymentsProjection, store, pool, wakeUp });
    standby.start();
    try {
      await until(async () => (await askedSessions()) === 1, { timeoutMs });
      await app.close();
      await until(() => standby.isActive, { timeoutMs });
    } finally {
      await standby.stop();
    }
  });

  it('count their events separately', async () => {
    await appendPayment('queued', 'processing');
    await until(async () => (await metric('events_total', 'payments')) === '2', { timeoutMs });
    expect(await metric('events_total', 'directory')).toBe('0');
    expect(await metric('stopped', 'payments')).toBe('0');
  });

  it('show which one stopped because an event is missing, and why, while the other one continues', async () => {
    await appendPayment('queued');
    await until(async () => (await statuses())[0] === 'QUEUED', { timeoutMs });
    await platform.pool.query('DELETE FROM payments');
    await appendPayment('completed');
    await until(async () => (await metric('stopped', 'payments')) === '1', { timeoutMs });
    const { health } = platform;
    const directoryIsUp = async () =>
      (await health.readiness()).dependencies['projection:directory']?.status === 'up';
    await until(directoryIsUp, { timeoutMs });
    const { status, dependencies } = await health.readiness();
    expect(status).toBe('unavailable');
    expect(dependencies['projection:payments']?.reason).toMatch(/PaymentCompleted/);
    expect(await metric('stopped', 'directory')).toBe('0');
  });

  it('show no lag while it cannot be measured, instead of the last one', async () => {
    @Module({ providers: [projectorOf(paymentsProjection, { lagIntervalMs: 20 })] })
    class Measured {}
    const measured = await startOnTestPlatform({ module: Measured });
    const oldest = async () =>
      /^pis_projection_oldest_event_seconds.* (.*)$/m.exec(await measured.metrics.metrics())?.[1];
    const { readLog, lastPosition } = measured.store;
    const hang = Promise.withResolvers<never>();
    const reading = (change: () => Promise<never>) =>
      Object.assign(measured.store, { readLog: change, lastPosition: change });
    try {
      expect(await oldest()).toBe('0');
      reading(() => Promise.reject(new Error('away')));
      await until(async () => (await oldest()) === 'Nan', { timeoutMs });
      Object.assign(measured.store, { readLog, lastPosition });
      await until(async () => (await oldest()) === '0', { timeoutMs });
      reading(() => hang.promise);
      await until(async () => (await oldest()) === 'Nan', { timeoutMs });
    } finally {
      Object.assign(measured.store, { readLog, lastPosition });
      hang.reject(new Error('away'));
      await measured.close();
    }
  });

  /** Sessions that have asked for a lock and now wait. */
  async function askedSessions(): Promise<number> {
    const { rows } = await platform.pool.query<{ asked: number }>(
      `SELECT count(*)::int AS asked FROM pg_stat_activity WHERE datname = current_database()
         AND state = 'idle' AND query LIKE 'SELECT pg_try_advisory_lock%'`,
    );
    return rows[0]?.asked ?? 0;
  }

  async function appendPayment(...names: readonly (keyof typeof paymentEvents)[]): Promise<void> {
    const events = names.map((name) => paymentEvents[name]);
    await appendEvents(platform.store, `payment-${ids.payment}`, events);
  }

  async function statuses(): Promise<readonly string[]> {
    const { rows } = await platform.pool.query<{ status: string }>('SELECT status FROM payments');
    return rows.map(({ status }) => status);
  }

  /** The value of `pis_projection_…` for one of them. */
  async function metric(name: string, projection: string): Promise<string | undefined> {
    const line = new RegExp(`^pis_projection_${name}\\{projection="${projection}"\\} (.*)$`, 'm');
    return line.exec(await platform.metrics.metrics())?.[1];
  }
});
