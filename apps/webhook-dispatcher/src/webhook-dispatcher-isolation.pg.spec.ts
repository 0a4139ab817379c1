import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { until } from '@pis/local-servers/testing';
import { dispatcherLimits, slotsOf } from './limits.js';
import {
  type DispatcherFixture,
  dispatcherFixture,
  testConfig,
  testLimits,
} from './testing/dispatcher-fixture.js';

jest.setTimeout(120_000);

const timeoutMs = 30_000;
const initialMs = testConfig.PIS_WEBHOOK_RETRY_INITIAL_MS;
const hourMs = 3_600_000;
/** No attempt times out during a test. */
const config = { ...testConfig, PIS_WEBHOOK_TIMEOUT_MS: 60_000 };
const limits = { ...testLimits, shutdownGraceMs: 50, shutdownRecordMs: 2_000 };

describe('A client with a healthy endpoint', () => {
  let fixture: DispatcherFixture;
  beforeEach(async () => {
    fixture = await dispatcherFixture();
  });
  afterEach(() => fixture.close());

  const started = (changes: Parameters<DispatcherFixture['dispatcher']>[0] = {}) => {
    const dispatcher = fixture.dispatcher({ config, limits, ...changes });
    dispatcher.start();
    return dispatcher;
  };
  const count = async (state: string, endpointId: string) => {
    const [row] = await fixture.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM webhook_delivery_records WHERE state = $1 AND endpoint_id = $2`,
      [state, endpointId],
    );
    return row?.n ?? 0;
  };
  /** Events of an organization, stored as a backlog: by a dispatcher that attempts nothing. */
  const backlog = async (events: number, organizationId = fixture.organizationId) => {
    const idle = fixture.dispatcher({ config, limits: { ...limits, quickMax: 0 } });
    await Promise.all(
      Array.from({ length: events }, async () =>
        idle.handle(await fixture.paymentEvent({ organizationId })),
      ),
    );
  };
  const paths = (path: string) => fixture.receiver.requests.filter((r) => r.path === path).length;

  it('is not delayed by a hundred endpoints of the same host that hang and have backlogs', async () => {
    const { receiver } = fixture;
    receiver.respondWith(({ path }) => ({ hang: path === '/hanging' }));
    for (let n = 0; n < 20; n++) {
      const organizationId = randomUUID();
      for (let m = 0; m < 5; m++)
        await fixture.createEndpoint({ organizationId, url: `${receiver.url}/hanging` });
      await backlog(6, organizationId);
    }
    const { endpointId } = await fixture.createEndpoint();
    const dispatcher = started();
    // As many attempts hang as the limit allows.
    await until(() => paths('/hanging') >= 128, { timeoutMs });

    for (let n = 0; n < 30; n++) {
      const event = await fixture.paymentEvent();
      await dispatcher.handle(event);
      await receiver.waitFor((request) => request.body.includes(event.eventId), {
        timeoutMs: config.PIS_WEBHOOK_TIMEOUT_MS / 3,
      });
    }
    await until(async () => (await count('delivered', endpointId)) === 30, { timeoutMs });
    // None of them was retried, and the attempts in flight are bounded.
    expect(paths('/hanging')).toBeLessThanOrEqual(640);
  });

  it('gets room in as few attempts as PIS_WEBHOOK_CONCURRENCY allows in all', async () => {
    const concurrency = 20;
    const { receiver } = fixture;
    receiver.respondWith(({ path }) => ({ hang: path === '/hanging' }));
    const organizationId = randomUUID();
    await fixture.createEndpoint({ organizationId });
    const dispatcher = started({ config: { ...config, PIS_WEBHOOK_CONCURRENCY: concurrency } });
    const deliver = async () => {
      const event = await fixture.paymentEvent({ organizationId });
      await dispatcher.handle(event);
      await receiver.waitFor((request) => request.body.includes(event.eventId), { timeoutMs });
    };
    // From now on the endpoint has answered before.
    await deliver();
    const organizations = 6;
    for (let n = 0; n < organizations; n++) {
      const hangs = { organizationId: randomUUID(), url: `${receiver.url}/hanging` };
      for (let m = 0; m < 5; m++) await fixture.createEndpoint(hangs);
      await backlog(6, hangs.organizationId);
    }
    const { slowMax } = slotsOf(concurrency);
    // None of them takes more than it leaves.
    const hanging = slowMax - Math.floor(slowMax / (organizations + 1));
    await until(() => paths('/hanging') >= hanging, { timeoutMs });
    await deliver();
    expect(paths('/hanging')).toBeLessThanOrEqual(concurrency);
  });

  it('gets its first attempt although endpoints of another organization hang and have backlogs', async () => {
    const { receiver } = fixture;
    receiver.respondWith(({ path }) => ({ hang: path === '/hanging' }));
    const hangs = { organizationId: randomUUID(), url: `${receiver.url}/hanging` };
    for (let m = 0; m < 5; m++) await fixture.createEndpoint(hangs);
    await backlog(6, hangs.organizationId);
    const { endpointId } = await fixture.createEndpoint();
    const few = { unknownMax: 4, slowMax: 4, slowPerOrganizationMax: 2 };
    const dispatcher = started({ limits: { ...limits, ...few } });
    await until(() => paths('/hanging') >= few.slowPerOrganizationMax, { timeoutMs });
    await dispatcher.handle(await fixture.paymentEvent());
    await until(async () => (await count('delivered', endpointId)) === 1, { timeoutMs });
    expect(paths('/hanging')).toBe(few.slowPerOrganizationMax);
  });

  it('is found although more endpoints than one pass considers hang and have waited longer', async () => {
    const { receiver } = fixture;
    receiver.respondWith(({ path }) => ({ hang: path === '/hanging' }));
    const { endpointId } = await fixture.createEndpoint();
    const crowd = { ...limits, slowAfterMs: 2_000, unknownMax: 2, slowMax: 2, dueEndpointsMax: 2 };
    const dispatcher = started({ limits: crowd });
    await dispatcher.handle(await fixture.paymentEvent());
    await until(async () => (await count('delivered', endpointId)) === 1, { timeoutMs });

    for (const organizationId of [randomUUID(), randomUUID()]) {
      for (let n = 0; n < 5; n++)
        await fixture.createEndpoint({ organizationId, url: `${receiver.url}/hanging` });
      await backlog(10, organizationId);
    }
    await until(() => paths('/hanging') >= crowd.slowMax, { timeoutMs });
    fixture.advance(1_000);
    await backlog(3);
    await until(async () => (await count('delivered', endpointId)) === 4, { timeoutMs });
  });

  it('gets a backlog of a thousand, each delivery once', async () => {
    const { endpointId } = await fixture.createEndpoint();
    await backlog(1_000);
    started();
    await until(async () => (await count('delivered', endpointId)) === 1_000, { timeoutMs });
    expect(fixture.receiver.requests).toHaveLength(1_000);
  });

  it('gets new events while three dispatchers drain a backlog, each delivery once', async () => {
    const { endpointId } = await fixture.createEndpoint();
    await backlog(400);
    const dispatchers = [started(), started(), started()];
    await Promise.all(
      Array.from({ length: 200 }, async (_, n) =>
        dispatchers[n % 3]?.handle(await fixture.paymentEvent()),
      ),
    );
    await until(async () => (await count('delivered', endpointId)) === 600, { timeoutMs });
    expect(fixture.receiver.requests).toHaveLength(600);
  });

  it('that was down for long: it is tried at a low rate, no delivery is given up, and all arrive when it is back', async () => {
    const { receiver } = fixture;
    const { endpointId } = await fixture.createEndpoint();
    await backlog(200);
    receiver.respondWith(() => ({ status: 503 }));
    const unhealthyPauseMs = 100;
    const { unhealthyAfterFailures } = dispatcherLimits.engine;
    const { perEndpointInitial } = slotsOf();
    const dispatcher = started({
      // No answer of this test makes the endpoint slow.
      limits: { ...limits, unhealthyPauseMs, slowAfterMs: 60_000 },
      metrics: fixture.metrics,
    });
    const unhealthyFrom = unhealthyAfterFailures + perEndpointInitial;
    await until(() => receiver.requests.length >= unhealthyFrom + 5, { timeoutMs });
    const times = receiver.requests
      .slice(unhealthyFrom)
      .map(({ receivedAt }) => receivedAt.getTime());
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? time));
    // Times are whole milliseconds.
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(unhealthyPauseMs - 2);
    expect(await unhealthy()).toBe(1);
    expect(await count('pending', endpointId)).toBe(200);

    let sinceItIsBack = 0;
    const { promise: sixteenAtOnce, resolve } = Promise.withResolvers<void>();
    receiver.respondWith(() => {
      sinceItIsBack += 1;
      // One answer is enough: no other is given before sixteen attempts are concurrent.
      if (sinceItIsBack === 1) return {};
      if (sinceItIsBack === 17) resolve();
      return { after: sixteenAtOnce };
    });
    await sixteenAtOnce;
    receiver.respondWith(() => ({}));
    fixture.advance(initialMs);
    await until(async () => (await count('delivered', endpointId)) === 200, { timeoutMs });
    expect(await count('failed', endpointId)).toBe(0);
    expect(await unhealthy()).toBe(0);
    await dispatcher.stop();

    async function unhealthy() {
      const text = await fixture.metrics.metrics();
      return Number(/^pis_webhook_ailing_endpoints (\d+)$/m.exec(text)?.[1]);
    }
  });

  it('that fails until its window is over: each delivery was attempted, and none was given up early', async () => {
    fixture.receiver.respondWith(() => ({ status: 500 }));
    const { endpointId } = await fixture.createEndpoint();
    await backlog(40);
    started({ limits: { ...limits, unhealthyPauseMs: 5 } });
    await until(
      async () => {
        // Time passes quickly, but not so quickly that a first attempt is missed.
        fixture.advance(hourMs);
        return (await count('failed', endpointId)) === 40;
      },
      { timeoutMs },
    );
    const rows = await fixture.query<{ attempts: number; early: boolean }>(
      `SELECT attempts, finished_at < window_ends_at - interval '2 hours' AS early
         FROM webhook_delivery_records`,
    );
    for (const row of rows) {
      expect(row.attempts).toBeGreaterThan(0);
      expect(row.early).toBe(false);
    }
  });

  it.each([
    ['600', 429, 600_000],
    ['600', 301, 600_000],
    ['600', 408, 600_000],
    ['600', 500, 600_000],
    ['3600', 503, hourMs],
    ['7200', 503, hourMs],
  ])(
    'that asks for %s s by Retry-After with %i gets the delivery then, or after an hour at most',
    async (asked, status, ms) => {
      fixture.receiver.respondWith((_, index) =>
        index === 0 ? { status, headers: { 'Retry-After': asked } } : {},
      );
      const { endpointId } = await fixture.createEndpoint();
      await started().handle(await fixture.paymentEvent());
      await until(async () => (await pending())?.attempts === 1, { timeoutMs });
      expect((await pending())?.next_attempt_at).toEqual(new Date(fixture.now().getTime() + ms));
      fixture.advance(ms);
      await until(async () => (await count('delivered', endpointId)) === 1, { timeoutMs });
      expect(fixture.receiver.requests).toHaveLength(2);

      async function pending() {
        const [row] = await fixture.query<{ attempts: number; next_attempt_at: Date }>(
          'SELECT attempts, next_attempt_at FROM webhook_deliveries',
        );
        return row;
      }
    },
  );
});
