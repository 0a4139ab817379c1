import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { StoreUnavailable } from '@pis/event-store';
import { testKeyring } from '@pis/keyring/testing';
import { closeAfterEach, openTestPool, tcpProxy, until } from '@pis/local-servers/testing';
import type pg from 'pg';
import { dispatcherLimits, leaseMs, slotsOf } from './limits.js';
import {
  type DispatcherFixture,
  dispatcherFixture,
  testConfig,
  testLimits,
} from './testing/dispatcher-fixture.js';

jest.setTimeout(120_000);

const timeoutMs = 30_000;
const initialMs = testConfig.PIS_WEBHOOK_RETRY_INITIAL_MS;
/** No attempt ends before the test lets it. */
const config = { ...testConfig, PIS_WEBHOOK_TIMEOUT_MS: 60_000 };
const lease = leaseMs(config.PIS_WEBHOOK_TIMEOUT_MS);

describe('When something breaks, a client still receives its webhooks', () => {
  const atEnd = closeAfterEach();

  let fixture: DispatcherFixture;
  beforeEach(async () => {
    fixture = await dispatcherFixture();
  });
  afterEach(() => fixture.close());

  const states = async () =>
    (await fixture.query<{ state: string }>('SELECT state FROM webhook_delivery_records')).map(
      ({ state }) => state,
    );
  const untilDelivered = (count: number) =>
    until(
      async () => {
        const all = await states();
        return all.length === count && all.every((state) => state === 'delivered');
      },
      { timeoutMs, what: `${count} delivered` },
    );
  const attempts = () =>
    fixture.query<{ attempt: number; status: number | null; error: string | null }>(
      'SELECT attempt, status, error FROM webhook_attempts ORDER BY attempt, status',
    );
  const deliveryIds = () =>
    fixture.receiver.requests.map((request) => request.headers['x-webhook-delivery']);
  const started = (changes?: Parameters<DispatcherFixture['dispatcher']>[0]) => {
    const dispatcher = fixture.dispatcher(changes);
    dispatcher.start();
    return dispatcher;
  };

  it('a dispatcher dies during an attempt: another one takes over when the lease ends, and not before', async () => {
    await fixture.createEndpoint();
    fixture.receiver.respondWith((_, index) => (index === 0 ? { hang: true } : {}));
    // Never started: it makes the first attempt and does nothing after that, as if it were killed.
    await fixture.dispatcher({ config }).handle(await fixture.paymentEvent());
    await fixture.receiver.waitFor(() => true);

    started();
    fixture.advance(lease - 1);
    expect(await due()).toBe(0);
    fixture.advance(1);
    await untilDelivered(1);
    const [first, second] = fixture.receiver.requests;
    expect(second?.body).toBe(first?.body);
    expect(new Set(deliveryIds()).size).toBe(1);
  });

  const due = async () => {
    const rows = await fixture.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM webhook_deliveries WHERE due_at <= $1`,
      [fixture.now()],
    );
    return rows[0]?.n;
  };

  it.each([
    ['a failure', 500],
    ['a success', 200],
  ])(
    '%s that arrives after another dispatcher has delivered changes nothing',
    async (_, status) => {
      await fixture.createEndpoint();
      const { promise: after, resolve: answer } = Promise.withResolvers<void>();
      fixture.receiver.respondWith((__, index) => (index === 0 ? { status, after } : {}));
      await fixture.dispatcher({ config }).handle(await fixture.paymentEvent());
      await fixture.receiver.waitFor(() => true);
      started();
      fixture.advance(lease);
      await untilDelivered(1);
      answer();
      // Both attempts are recorded, both as the first: neither dispatcher knew of the other.
      await until(async () => (await attempts()).length === 2, { timeoutMs });
      expect(await states()).toEqual(['delivered']);
    },
  );

  it('a failure that arrives during an attempt of another dispatcher does not end that lease', async () => {
    await fixture.createEndpoint();
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    fixture.receiver.respondWith((_, index) =>
      index === 0 ? { status: 500, after: first.promise } : { after: second.promise },
    );
    await fixture.dispatcher({ config }).handle(await fixture.paymentEvent());
    await fixture.receiver.waitFor(() => true);
    const owner = randomUUID();
    started({ owner, config });
    fixture.advance(lease);
    await until(() => fixture.receiver.requests.length === 2, { timeoutMs });
    first.resolve();
    await until(async () => (await attempts()).length === 1, { timeoutMs });
    expect(await fixture.query('SELECT lease_owner FROM webhook_deliveries')).toEqual([
      { lease_owner: owner },
    ]);
    second.resolve();
    await untilDelivered(1);
    expect(fixture.receiver.requests).toHaveLength(2);
  });

  it('the answer to the insert is lost: the message comes again, and the delivery is not delayed', async () => {
    await fixture.createEndpoint();
    const breaking = failingOnce(fixture.pool, 'webhook_insert', { afterwards: true });
    const dispatcher = started({ pool: breaking });
    const event = await fixture.paymentEvent();
    await expect(dispatcher.handle(event)).rejects.toThrow('connection lost');
    expect(await states()).toEqual(['pending']);
    await dispatcher.handle(event);
    await untilDelivered(1);
    expect(fixture.receiver.requests).toHaveLength(1);
  });

  it('the record of an attempt is lost: it is written again, and no delivery is sent again', async () => {
    for (const afterwards of [true, false]) {
      const one = await dispatcherFixture();
      await one.createEndpoint();
      const pool = failingOnce(one.pool, 'webhook_finish', { afterwards });
      const dispatcher = one.dispatcher({ pool });
      dispatcher.start();
      await dispatcher.handle(await one.paymentEvent());
      await until(
        async () =>
          (await one.query(`SELECT 1 FROM webhook_delivery_records WHERE state = 'delivered'`))
            .length > 0,
        { timeoutMs },
      );
      await dispatcher.stop();
      expect(one.receiver.requests).toHaveLength(1);
      expect(await one.query('SELECT 1 FROM webhook_attempts')).toHaveLength(1);
      await one.close();
    }
  });

  it('the answer to a record comes after its delivery was claimed again: the retry is not delayed', async () => {
    await fixture.createEndpoint();
    fixture.receiver.respondWith((_, index) => ({ status: index === 0 ? 500 : 200 }));
    // An endpoint that is slow and fails gets no second attempt before the first is recorded.
    const limits = { ...testLimits, slowAfterMs: 60_000 };
    const dispatcher = started({ pool: answeringLate(fixture.pool), limits });
    await dispatcher.handle(await fixture.paymentEvent());
    await until(async () => (await attempts()).length === 1, { timeoutMs });
    fixture.advance(initialMs);
    await untilDelivered(1);
    expect(fixture.receiver.requests).toHaveLength(2);
  });

  it('the database fails during an attempt: the attempt is recorded when it is back', async () => {
    await fixture.createEndpoint();
    fixture.receiver.respondWith(() => ({ delayMs: 300 }));
    const database = await tcpProxy(fixture.databaseUrl);
    atEnd(() => database.close());
    const pool = openTestPool(database.url, 5);
    atEnd(() => pool.end());
    const dispatcher = started({ pool });
    atEnd(() => dispatcher.stop());
    await dispatcher.handle(await fixture.paymentEvent());
    await fixture.receiver.waitFor(() => true);
    database.goAway();
    await until(() => database.refused() > 3, { timeoutMs });
    await expect(dispatcher.handle(await fixture.paymentEvent())).rejects.toThrow();
    expect(await states()).toEqual(['pending']);
    database.comeBack();
    await untilDelivered(1);
    expect(fixture.receiver.requests).toHaveLength(1);
  });

  it('the event store is unavailable: the event stays with the broker, and retries wait', async () => {
    await fixture.createEndpoint();
    fixture.receiver.respondWith((_, index) => ({ status: index === 0 ? 503 : 200 }));
    const dispatcher = started();
    const readStream = fixture.store.readStream.bind(fixture.store);
    const lastPosition = fixture.store.lastPosition.bind(fixture.store);
    const event = await fixture.paymentEvent();

    let refused = 0;
    const away = () => {
      refused += 1;
      return Promise.reject(new StoreUnavailable('away'));
    };
    fixture.store.readStream = away;
    await expect(dispatcher.handle(event)).rejects.toThrow(StoreUnavailable);
    expect(await states()).toEqual([]);
    fixture.store.readStream = readStream;
    await dispatcher.handle(event);
    await until(async () => (await attempts()).length === 1, { timeoutMs });

    Object.assign(fixture.store, { readStream: away, lastPosition: away });
    fixture.advance(initialMs);
    await until(() => refused >= 2, { timeoutMs });
    Object.assign(fixture.store, { readStream, lastPosition });
    await until(
      async () => {
        fixture.advance(dispatcherLimits.engine.postponeMs);
        return (await states())[0] === 'delivered';
      },
      { timeoutMs },
    );
    expect(await attempts()).toMatchObject([{ status: 503 }, { status: 200 }]);
  });

  it('the key of its secret is lost: the attempt is recorded, and retried with the key', async () => {
    await fixture.createEndpoint();
    const misconfigured = fixture.dispatcher({ keyring: testKeyring() });
    await misconfigured.handle(await fixture.paymentEvent());
    await until(async () => (await attempts()).length === 1, { timeoutMs });
    expect((await attempts())[0]?.error).toMatch(/^signing: /);
    started();
    fixture.advance(initialMs);
    await untilDelivered(1);
  });

  it('its receiver sends characters that no database stores: the rest of the answer is recorded', async () => {
    await fixture.createEndpoint();
    fixture.receiver.respondWith(() => ({ status: 200, body: 'a\u0000b\uD800' }));
    await started().handle(await fixture.paymentEvent());
    await untilDelivered(1);
    const [row] = await fixture.query<{ response_excerpt: string }>(
      'SELECT * FROM webhook_attempts',
    );
    expect(row?.response_excerpt).toBe('a\uFFFDb\uFFFD');
  });

  it('another endpoint hangs with a backlog: its events arrive at once, those of the other later', async () => {
    const { receiver } = fixture;
    const hangingMax = slotsOf().perEndpointInitial;
    const isHanging = (request: { path: string }) => request.path === '/hanging';
    receiver.respondWith((request) => ({ hang: isHanging(request) }));
    const url = `${receiver.url}/hanging`;
    await fixture.createEndpoint({ url, subscribedEvents: ['payment.failed'] });
    await fixture.createEndpoint({ subscribedEvents: ['payment.completed'] });
    const dispatcher = started({ config, limits: { ...testLimits, shutdownGraceMs: 50 } });
    const many = await Promise.all(
      Array.from({ length: 100 }, () => fixture.paymentEvent({ eventType: 'payment.failed' })),
    );
    await Promise.all(many.map((event) => dispatcher.handle(event)));
    await until(() => receiver.requests.length === hangingMax, { timeoutMs });

    const event = await fixture.paymentEvent({ eventType: 'payment.completed' });
    await dispatcher.handle(event);
    // Long before the first of the other's attempts ends.
    await receiver.waitFor((request) => request.body.includes(event.eventId), {
      timeoutMs: config.PIS_WEBHOOK_TIMEOUT_MS / 3,
    });
    expect(receiver.requests.filter(isHanging)).toHaveLength(hangingMax);

    // A stopped dispatcher returns its leases: the next one delivers all without waiting for their end.
    await dispatcher.stop();
    receiver.respondWith(() => ({}));
    started({ config });
    await untilDelivered(101);
  });

  it('a dispatcher stops: its leased deliveries that have not begun are free at once', async () => {
    await fixture.createEndpoint();
    const waits = { slowAfterMs: 60_000, shutdownGraceMs: 50 };
    const dispatcher = started({ limits: { ...testLimits, ...waits } });
    await dispatcher.handle(await fixture.paymentEvent());
    await untilDelivered(1);
    fixture.receiver.respondWith(() => ({ hang: true }));
    const events = await Promise.all(Array.from({ length: 40 }, () => fixture.paymentEvent()));
    await Promise.all(events.map((event) => dispatcher.handle(event)));
    await until(() => fixture.receiver.requests.length > 1, { timeoutMs });
    // The endpoint was quick: they wait for their turn beside those that hang.
    expect(await leased()).toBe(40);
    await dispatcher.stop();
    expect(await leased()).toBe(0);
    fixture.receiver.respondWith(() => ({}));
    started();
    await untilDelivered(41);
  });

  const leased = async () =>
    (await fixture.query('SELECT 1 FROM webhook_deliveries WHERE leased_until IS NOT NULL')).length;

  it('three dispatchers share the retries: each is sent once', async () => {
    await fixture.createEndpoint();
    await fixture.createEndpoint();
    fixture.receiver.respondWith((_, index) => ({ status: index < 200 ? 503 : 200 }));
    // Not postponed because of an endpoint that fails all the time.
    const limits = { ...testLimits, unhealthyAfterFailures: Infinity };
    const first = fixture.dispatcher({ limits });
    const events = await Promise.all(Array.from({ length: 100 }, () => fixture.paymentEvent()));
    await Promise.all(events.map((event) => first.handle(event)));
    first.start();
    await until(async () => (await attempts()).length === 200, { timeoutMs });
    await first.stop();

    fixture.advance(initialMs);
    for (let i = 0; i < 3; i++) started();
    await untilDelivered(200);
    const retries = deliveryIds().slice(200);
    expect(retries).toHaveLength(200);
    expect(new Set(retries).size).toBe(200);
  });
});

/** The pool, except that the named statement fails once: before it is run, or after its commit. */
function failingOnce(
  pool: pg.Pool,
  name: string,
  { afterwards }: { afterwards: boolean },
): pg.Pool {
  let isDone = false;
  return new Proxy(pool, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (property !== 'query') return value;
      return async (query: pg.QueryConfig) => {
        const fails = query.name === name && !isDone;
        if (fails) isDone = true;
        if (!fails || afterwards) {
          const result = await target.query(query);
          if (!fails) return result;
        }
        throw new Error('connection lost');
      };
    },
  });
}

/** The pool, except that it answers the first retry's record only after a claim. */
function answeringLate(pool: pg.Pool): pg.Pool {
  const claimed = Promise.withResolvers<void>();
  return new Proxy(pool, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (property !== 'query') return value;
      return async (query: pg.QueryConfig) => {
        const result = await target.query(query);
        if (query.name === 'webhook_postpone') await claimed.promise;
        // The claim goes first.
        if (query.name === 'webhook_claim' && result.rows.length > 0)
          setImmediate(() => claimed.resolve());
        return result;
      };
    },
  });
}
