import { jest } from '@jest/globals';
import { until } from '@pis/local-servers/testing';
import { deliveryIdOf } from '@pis/webhook-deliveries';
import { verify } from '@pis/webhooks';
import type { PaymentEventType } from '@pis/domain';
import {
  type DispatcherFixture,
  dispatcherFixture,
  testConfig,
  testLimits,
} from './testing/dispatcher-fixture.js';

jest.setTimeout(120_000);

const timeoutMs = 30_000;
const initialMs = testConfig.PIS_WEBHOOK_RETRY_INITIAL_MS;

interface DeliveryRow {
  id: string;
  state: string;
  attempts: number;
  last_status: number | null;
  last_error: string | null;
  finished_reason: string | null;
  next_attempt_at: Date;
}

describe('A client with a webhook endpoint', () => {
  let fixture: DispatcherFixture;
  beforeEach(async () => {
    fixture = await dispatcherFixture();
  });
  afterEach(() => fixture.close());

  const deliveries = () =>
    fixture.query<DeliveryRow>('SELECT * FROM webhook_delivery_records ORDER BY created_at, id');
  const onlyDelivery = async () => {
    const rows = await deliveries();
    if (rows.length !== 1 || !rows[0]) throw new Error(`${rows.length} deliveries`);
    return rows[0];
  };
  const untilState = (state: string) =>
    until(async () => (await onlyDelivery()).state === state, { timeoutMs, what: state });
  const untilAttempts = (attempts: number) =>
    until(
      async () => {
        const { attempts: made, state } = await onlyDelivery();
        return made === attempts && (state !== 'pending' || !(await leased()));
      },
      { timeoutMs, what: `${attempts} attempts` },
    );
  const leased = async () =>
    (await fixture.query('SELECT 1 FROM webhook_deliveries WHERE lease_owner IS NOT NULL')).length >
    0;
  const started = (changes?: Parameters<DispatcherFixture['dispatcher']>[0]) => {
    const dispatcher = fixture.dispatcher(changes);
    dispatcher.start();
    return dispatcher;
  };

  it('receives one signed delivery per event, with the envelope and headers of the spec', async () => {
    const { endpointId, secret } = await fixture.createEndpoint();
    const dispatcher = started();
    const types: PaymentEventType[] = ['payment.queued', 'payment.processing', 'payment.completed'];
    const events = [];
    for (const eventType of types) {
      const event = await fixture.paymentEvent({ eventType });
      events.push(event);
      await dispatcher.handle(event);
    }
    await until(() => fixture.receiver.requests.length === 3, { timeoutMs });
    for (const event of events) {
      const request = await fixture.receiver.waitFor((r) => r.body.includes(event.eventId));
      expect(request.method).toBe('POST');
      expect(request.path).toBe('/hook');
      expect(verify(request.body, request.headers, secret, fixture.now())).toBe(true);
      expect(request.headers).toMatchObject({
        'content-type': 'application/json',
        'x-webhook-event': event.eventType,
        'x-webhook-delivery': deliveryIdOf(event.eventId, endpointId),
        'x-webhook-timestamp': fixture.now().toISOString(),
      });
      expect(JSON.parse(request.body)).toEqual({
        id: event.eventId,
        version: '1',
        eventType: event.eventType,
        createdAt: event.occurredAt,
        synthetic: false,
        data: event.data,
      });
    }
    await until(async () => (await deliveries()).every((row) => row.state === 'delivered'), {
      timeoutMs,
    });
  });

  it('receives an event once when its message arrives twice, one after the other and at once', async () => {
    await fixture.createEndpoint();
    const dispatcher = started();
    const event = await fixture.paymentEvent();
    await Promise.all([dispatcher.handle(event), dispatcher.handle(event)]);
    await untilState('delivered');
    await dispatcher.handle(event);
    await fixture.dispatcher().handle(event);
    await dispatcher.stop();
    expect(await deliveries()).toHaveLength(1);
    expect(fixture.receiver.requests).toHaveLength(1);
  });

  it('is retried on time when the pause is shorter than the sleep of the dispatcher', async () => {
    await fixture.createEndpoint();
    fixture.receiver.respondWith((_, index) => ({ status: index < 2 ? 500 : 200 }));
    const dispatcher = started({
      config: { ...testConfig, PIS_WEBHOOK_RETRY_INITIAL_MS: 100 },
      limits: { ...testLimits, pollMaxMs: 60_000 },
      now: () => new Date(),
    });
    await dispatcher.handle(await fixture.paymentEvent());
    await untilState('delivered');
    expect(fixture.receiver.requests).toHaveLength(3);
  });

  it('whose receiver answers 500 gets the same delivery again after 30 seconds, signed anew', async () => {
    const { secret } = await fixture.createEndpoint();
    fixture.receiver.respondWith((_, index) =>
      index === 0 ? { status: 500, body: 'out of order' } : { status: 200 },
    );
    const dispatcher = started();
    await dispatcher.handle(await fixture.paymentEvent());
    await untilAttempts(1);
    expect(await onlyDelivery()).toMatchObject({ state: 'pending', last_status: 500 });
    expect((await onlyDelivery()).next_attempt_at).toEqual(
      new Date(fixture.now().getTime() + initialMs),
    );
    fixture.advance(initialMs - 1);
    await expectNothingDue();
    fixture.advance(1);
    await untilState('delivered');

    const [first, second] = fixture.receiver.requests;
    expect(second?.body).toBe(first?.body);
    expect(second?.headers['x-webhook-delivery']).toBe(first?.headers['x-webhook-delivery']);
    expect(second?.headers['x-webhook-timestamp']).toBe(fixture.now().toISOString());
    expect(second?.headers['x-webhook-timestamp']).not.toBe(first?.headers['x-webhook-timestamp']);
    expect(verify(second?.body ?? '', second?.headers ?? {}, secret, fixture.now())).toBe(true);
    const attempts = await fixture.query(
      'SELECT attempt, status, error, response_excerpt FROM webhook_attempts ORDER BY attempt',
    );
    expect(attempts).toEqual([
      { attempt: 1, status: 500, error: null, response_excerpt: 'out of order' },
      { attempt: 2, status: 200, error: null, response_excerpt: '' },
    ]);
  });

  /** The engine has polled the table and changed nothing. */
  async function expectNothingDue() {
    const before = fixture.receiver.requests.length;
    const { rows } = await fixture.pool.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM webhook_deliveries WHERE due_at <= $1',
      [fixture.now()],
    );
    expect(rows[0]?.n).toBe(0);
    expect(fixture.receiver.requests).toHaveLength(before);
  }

  it.each([400, 404, 410])('whose receiver answers %i is not asked again', async (status) => {
    await fixture.createEndpoint();
    fixture.receiver.respondWith(() => ({ status }));
    await started().handle(await fixture.paymentEvent());
    await untilState('failed');
    expect(await onlyDelivery()).toMatchObject({ finished_reason: 'refused', attempts: 1 });
  });

  it('whose receiver redirects gets no second request: that is a failed attempt', async () => {
    await fixture.createEndpoint();
    fixture.receiver.respondWith(() => ({ redirect: `${fixture.receiver.url}/elsewhere` }));
    await started().handle(await fixture.paymentEvent());
    await untilAttempts(1);
    expect(await onlyDelivery()).toMatchObject({ state: 'pending', last_status: 302 });
    expect(fixture.receiver.requests.map((request) => request.path)).toEqual(['/hook']);
  });

  it('whose host has a private address gets no connection', async () => {
    await fixture.createEndpoint();
    const config = { ...testConfig, PIS_WEBHOOK_ALLOWED_NETWORKS: [] };
    await started({ config }).handle(await fixture.paymentEvent());
    await untilAttempts(1);
    const { state, last_error } = await onlyDelivery();
    expect({ state, last_error }).toEqual({
      state: 'pending',
      last_error: 'address_blocked: the host has no publicly routable address',
    });
    expect(fixture.receiver.requests).toHaveLength(0);
  });

  it('whose host is one of our own servers gets no connection', async () => {
    await fixture.createEndpoint();
    const ownHosts = [{ host: 'localhost', port: fixture.receiver.port }];
    await started({ ownHosts }).handle(await fixture.paymentEvent());
    await untilAttempts(1);
    const { last_error } = await onlyDelivery();
    expect(last_error).toMatch(/^address_blocked/);
    expect(fixture.receiver.requests).toHaveLength(0);
  });

  it('that never succeeds is given up when the window is over, and not before', async () => {
    await fixture.createEndpoint();
    fixture.receiver.respondWith(() => ({ status: 503 }));
    const windowMs = 100_000;
    const config = { ...testConfig, PIS_WEBHOOK_RETRY_WINDOW_PAYMENTS_MS: windowMs };
    await started({ config }).handle(await fixture.paymentEvent());
    await untilAttempts(1);
    fixture.advance(30_000);
    await untilAttempts(2);
    fixture.advance(60_000);
    await untilAttempts(3);
    expect(await onlyDelivery()).toMatchObject({
      state: 'failed',
      finished_reason: 'window_ended',
    });
  });

  it('receives an event right after it is created, and no event from before', async () => {
    const dispatcher = started();
    const before = await fixture.paymentEvent();
    await dispatcher.handle(before);
    const early = await fixture.paymentEvent();
    await fixture.createEndpoint();
    const after = await fixture.paymentEvent();
    await dispatcher.handle(early);
    await dispatcher.handle(after);
    await untilState('delivered');
    expect(fixture.receiver.requests.map((r) => JSON.parse(r.body).id)).toEqual([after.eventId]);
  });

  it('receives the subscribed events and no others', async () => {
    await fixture.createEndpoint({ subscribedEvents: ['payment.failed'] });
    const dispatcher = started();
    await dispatcher.handle(await fixture.paymentEvent());
    await dispatcher.handle(await fixture.paymentEvent({ eventType: 'payment.failed' }));
    await untilState('delivered');
    expect(fixture.receiver.requests[0]?.headers['x-webhook-event']).toBe('payment.failed');
  });

  function changeEnabled(endpointId: string, enabled: boolean) {
    const { organizationId } = fixture;
    return fixture.change({
      type: 'UpdateWebhookEndpoint',
      at: fixture.now().toISOString(),
      data: { organizationId, endpointId, changes: { enabled } },
    });
  }

  it('disables it: retries wait; enables it: they continue; an event in between is never delivered', async () => {
    const { endpointId } = await fixture.createEndpoint();
    const enable = (enabled: boolean) => changeEnabled(endpointId, enabled);
    fixture.receiver.respondWith((_, index) => ({ status: index === 0 ? 500 : 200 }));
    const dispatcher = started();
    const first = await fixture.paymentEvent();
    await dispatcher.handle(first);
    await untilAttempts(1);
    await enable(false);
    await dispatcher.handle(await fixture.paymentEvent());
    const looks = countLooks(fixture);
    fixture.advance(initialMs);
    // The engine has checked the endpoint for this delivery twice and has let it wait.
    await until(() => looks() >= 2, { timeoutMs });
    expect(await onlyDelivery()).toMatchObject({ state: 'pending', attempts: 1 });
    await enable(true);
    await untilState('delivered');
    expect(fixture.receiver.requests).toHaveLength(2);
  });

  it('enables it again: a retry that waited is made at once', async () => {
    const { endpointId } = await fixture.createEndpoint();
    const enable = (enabled: boolean) => changeEnabled(endpointId, enabled);
    fixture.receiver.respondWith((_, index) => ({ status: index === 0 ? 500 : 200 }));
    // Longer than the test may last: the engine does not look again by itself.
    const dispatcher = started({ limits: { ...testLimits, disabledRecheckMs: 3_600_000 } });
    await dispatcher.handle(await fixture.paymentEvent());
    await untilAttempts(1);
    await enable(false);
    await dispatcher.handle(await fixture.paymentEvent());
    const looks = countLooks(fixture);
    fixture.advance(initialMs);
    await until(async () => looks() >= 1 && !(await leased()), { timeoutMs });
    expect(await onlyDelivery()).toMatchObject({ state: 'pending', attempts: 1 });
    await enable(true);
    await untilState('delivered');
  });

  it('leaves it disabled until the window is over: the delivery has failed', async () => {
    const { endpointId } = await fixture.createEndpoint();
    const { organizationId } = fixture;
    fixture.receiver.respondWith(() => ({ status: 500 }));
    await started().handle(await fixture.paymentEvent());
    await untilAttempts(1);
    await fixture.change({
      type: 'UpdateWebhookEndpoint',
      at: fixture.now().toISOString(),
      data: { organizationId, endpointId, changes: { enabled: false } },
    });
    fixture.advance(testConfig.PIS_WEBHOOK_RETRY_WINDOW_PAYMENTS_MS + 1);
    await untilState('failed');
    expect(await onlyDelivery()).toMatchObject({ attempts: 1, finished_reason: 'window_ended' });
  });

  it('deletes it: its pending deliveries are canceled', async () => {
    const { endpointId } = await fixture.createEndpoint();
    const { organizationId } = fixture;
    fixture.receiver.respondWith(() => ({ status: 500 }));
    await started().handle(await fixture.paymentEvent());
    await untilAttempts(1);
    const at = fixture.now().toISOString();
    await fixture.change({
      type: 'DeleteWebhookEndpoint',
      at,
      data: { organizationId, endpointId },
    });
    fixture.advance(initialMs);
    await untilState('canceled');
    expect(fixture.receiver.requests).toHaveLength(1);
  });

  it('moves it to another URL: the next attempt goes there', async () => {
    const { endpointId } = await fixture.createEndpoint();
    const { organizationId } = fixture;
    fixture.receiver.respondWith((_, index) => ({ status: index === 0 ? 500 : 200 }));
    await started().handle(await fixture.paymentEvent());
    await untilAttempts(1);
    await fixture.change({
      type: 'UpdateWebhookEndpoint',
      at: fixture.now().toISOString(),
      data: { organizationId, endpointId, changes: { url: `${fixture.receiver.url}/moved` } },
    });
    fixture.advance(initialMs);
    await untilState('delivered');
    expect(fixture.receiver.requests.map((request) => request.path)).toEqual(['/hook', '/moved']);
  });
});

/** How often an endpoint is looked at for an attempt: each time the log is asked where it ends. */
function countLooks({ store }: DispatcherFixture): () => number {
  let looks = 0;
  const lastPosition = store.lastPosition.bind(store);
  store.lastPosition = () => {
    looks += 1;
    return lastPosition();
  };
  return () => looks;
}
