import 'reflect-metadata';
import { ids, paymentEvents } from '@pis/domain/testing';
import { until } from '@pis/local-servers/testing';
import { appendEvents } from '@pis/read-models/testing';
import { startOnTestPlatform, type TestPlatform } from '@pis/service-kit/testing';
import { PaymentsProjectorModule } from './payments-projector.module.js';

const timeoutMs = 60_000;

describe('the payments projector', () => {
  let platform: TestPlatform;

  beforeEach(async () => {
    platform = await startOnTestPlatform(PaymentsProjectorModule.register());
  });
  afterEach(() => platform.close());

  it('keeps the list of payments and the index of their events up with the log', async () => {
    const { store, pool, health } = platform;
    await appendEvents(store, `payment-${ids.payment}`, [
      paymentEvents.queued,
      paymentEvents.processing,
    ]);
    const statuses = async () =>
      (await pool.query<{ status: string }>('SELECT status FROM payments')).rows;
    await until(async () => (await statuses())[0]?.status === 'PROCESSING', { timeoutMs });
    const events = async () => (await pool.query('SELECT 1 FROM integration_events')).rowCount;
    await until(async () => (await events()) === 2, { timeoutMs });
    expect((await health.readiness()).dependencies).toEqual({
      'projection:payments': { status: 'up' },
      'projection:events': { status: 'up' },
      'projection:figures': { status: 'up' },
      'projection:movements': { status: 'up' },
      'projection:history': { status: 'up' },
    });
  });
});
