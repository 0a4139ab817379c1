import { jest } from '@jest/globals';
import { until } from '@pis/local-servers/testing';
import { endpointHealths } from '@pis/webhook-deliveries';
import type pg from 'pg';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import {
  type DispatcherFixture,
  dispatcherFixture,
  testConfig,
  testLimits,
} from './testing/dispatcher-fixture.js';

jest.setTimeout(60_000);

const timeoutMs = 20_000;
const hourMs = 3_600_000;
/** A day and a little: an attempt at most each hour. */
const attemptsInADay = 40;

let fixture: DispatcherFixture;
let endpointId: string;
let lines: { readonly msg: string; readonly endpointId?: string }[];
beforeEach(async () => {
  fixture = await dispatcherFixture();
  ({ endpointId } = await fixture.createEndpoint());
  lines = [];
});
afterEach(() => fixture.close());

const started = (metrics = new Registry(), pool: pg.Pool = fixture.pool) => {
  const write = (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]);
  const limits = {
    ...testLimits,
    unhealthyAfterFailures: 1_000,
    failureReports: { everyMs: 10 },
  };
  const logger = pino({ base: null }, { write });
  const dispatcher = fixture.dispatcher({ logger, limits, metrics, pool });
  dispatcher.start();
  return dispatcher;
};
const health = async () =>
  (await endpointHealths(fixture.pool).failing(fixture.organizationId, [endpointId])).get(
    endpointId,
  );
const attempts = async () => (await fixture.query('SELECT 1 FROM webhook_attempts')).length;
const untilAttempted = (count: number) =>
  until(async () => (await attempts()) >= count && (await leased()) === 0, {
    timeoutMs,
    what: `${count} attempts`,
  });
const leased = async () =>
  (await fixture.query('SELECT 1 FROM webhook_deliveries WHERE leased_until IS NOT NULL')).length;
const reports = () => lines.filter(({ msg }) => msg === 'a webhook endpoint has failed for a day');

/** What the log holds for operators about the endpoint. */
async function noticesOf(failingSince: Date) {
  const streamId = `operatorNotice-webhookEndpointFailing-${endpointId}-${failingSince.getTime()}`;
  const events = await fixture.store.readStream(streamId);
  return events.map(({ data }) => data);
}

/** A pool that calls back before each statement that records failures. */
function beforeNoting(pool: pg.Pool, look: () => Promise<void>): pg.Pool {
  const query = async (config: pg.QueryConfig) => {
    if (config.name === 'webhook_endpoint_failures.note') await look();
    return pool.query(config);
  };
  return { query, connect: () => pool.connect() } as unknown as pg.Pool;
}

/** Fails each attempt for a day. None is in flight at the end, so the clock may advance. */
async function failedForADay(): Promise<void> {
  fixture.receiver.respondWith(() => ({ status: 500 }));
  await started().handle(await fixture.paymentEvent());
  const end = fixture.now().getTime() + 25 * hourMs;
  for (let made = 1; ; made += 1) {
    expect(made).toBeLessThan(attemptsInADay);
    await untilAttempted(made);
    if (fixture.now().getTime() >= end) return;
    const [next] = await fixture.query<{ next_attempt_at: Date }>(
      'SELECT next_attempt_at FROM webhook_deliveries',
    );
    fixture.advance((next?.next_attempt_at.getTime() ?? end) - fixture.now().getTime());
  }
}

describe('An endpoint', () => {
  it.each([
    ['500', 500],
    ['a refusal', 410],
  ])(
    'that answers with %s is degraded since then, until it takes a delivery',
    async (_, status) => {
      fixture.receiver.respondWith((_request, index) => ({ status: index === 0 ? status : 200 }));
      const failingSince = fixture.now();
      const dispatcher = started();
      await dispatcher.handle(await fixture.paymentEvent());
      await until(health, { timeoutMs });
      expect(await health()).toEqual({ health: 'degraded', failingSince });
      await dispatcher.handle(await fixture.paymentEvent());
      await until(async () => (await health()) === undefined, { timeoutMs });
      expect(reports()).toHaveLength(0);
    },
  );

  it('that fails for a day is failing, and all dispatchers together report it to operators once', async () => {
    const failingSince = fixture.now();
    started();
    const metrics = new Registry();
    started(metrics);
    await failedForADay();
    await until(async () => (await health())?.health === 'failing', { timeoutMs });
    expect(await health()).toMatchObject({ failingSince });
    await until(() => reports().length > 0, { timeoutMs });
    expect(reports()).toEqual([
      expect.objectContaining({ endpointId, organizationId: fixture.organizationId }),
    ]);
    expect(await noticesOf(failingSince)).toEqual([
      {
        notice: 'webhook endpoint failing',
        subject: {
          endpointId,
          organizationId: fixture.organizationId,
          failingSince: failingSince.toISOString(),
          lastFailedAt: expect.any(String) as string,
        },
      },
    ]);
    expect(await metrics.getSingleMetricAsString('pis_webhook_failing_endpoints')).toMatch(/ 1$/);

    fixture.receiver.respondWith(() => ({}));
    fixture.advance(hourMs);
    await until(async () => (await health()) === undefined, { timeoutMs });
    expect(reports()).toHaveLength(1);
  });

  it('that failed once long ago and got no delivery since is not failing', async () => {
    fixture.receiver.respondWith(() => ({ status: 400 }));
    await started().handle(await fixture.paymentEvent());
    await until(health, { timeoutMs });
    fixture.advance(5 * 24 * hourMs);
    expect(await health()).toMatchObject({ health: 'degraded' });
    const windowMs = testConfig.PIS_WEBHOOK_RETRY_WINDOW_STATEMENTS_MS;
    fixture.advance(windowMs);
    await until(async () => (await health()) === undefined, { timeoutMs, what: 'forgotten' });
    expect(reports()).toHaveLength(0);
  });

  it('is recorded as failing before another attempt can succeed', async () => {
    fixture.receiver.respondWith(() => ({ status: 500 }));
    const leasedWhenNoted: number[] = [];
    const pool = beforeNoting(fixture.pool, async () => {
      leasedWhenNoted.push(await leased());
    });
    await started(new Registry(), pool).handle(await fixture.paymentEvent());
    await until(health, { timeoutMs });
    expect(leasedWhenNoted).toEqual([1]);
  });

  it('that is deleted leaves nothing behind', async () => {
    fixture.receiver.respondWith(() => ({ status: 500 }));
    await started().handle(await fixture.paymentEvent());
    await until(health, { timeoutMs });
    await fixture.change({
      type: 'DeleteWebhookEndpoint',
      at: fixture.now().toISOString(),
      data: { organizationId: fixture.organizationId, endpointId },
    });
    fixture.advance(hourMs);
    await until(async () => (await health()) === undefined, { timeoutMs });
  });
});
