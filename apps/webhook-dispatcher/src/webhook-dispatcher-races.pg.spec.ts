import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { until } from '@pis/local-servers/testing';
import { deliveryLog, redeliver } from '@pis/webhook-deliveries';
import type pg from 'pg';
import { pino } from 'pino';
import { leaseMs } from './limits.js';
import {
  type DispatcherFixture,
  dispatcherFixture,
  testConfig,
  testLimits,
} from './testing/dispatcher-fixture.js';

jest.setTimeout(60_000);

const timeoutMs = 20_000;
/** How long a test waits for an event that must not happen. */
const patienceMs = 200;
const dayMs = 24 * 3_600_000;

let fixture: DispatcherFixture;
beforeEach(async () => {
  fixture = await dispatcherFixture();
});
afterEach(() => fixture.close());

const records = () =>
  fixture.query<{ id: string; state: string; attempts: number; last_status: number | null }>(
    'SELECT id, state, attempts, last_status FROM webhook_delivery_records ORDER BY created_at, id',
  );
const untilStates = (...expected: string[]) =>
  until(async () => (await records()).map(({ state }) => state).join() === expected.join(), {
    timeoutMs,
    what: expected.join(),
  });
const started = (changes?: Parameters<DispatcherFixture['dispatcher']>[0]) => {
  const dispatcher = fixture.dispatcher(changes);
  dispatcher.start();
  return dispatcher;
};

/** The first attempt lasts until the returned function is called. */
const holdFirstAnswer = (status: number) => {
  const answered = Promise.withResolvers<void>();
  fixture.receiver.respondWith((_, index) =>
    index === 0 ? { status, after: answered.promise } : {},
  );
  return () => answered.resolve();
};

describe('A client who requests a delivery again', () => {
  it.each([500, 400])(
    'while it is attempted and then answers %i gets it again at once',
    async (status) => {
      await fixture.createEndpoint();
      const answer = holdFirstAnswer(status);
      await started().handle(await fixture.paymentEvent());
      await fixture.receiver.waitFor(() => true);
      fixture.advance(1);
      await redelivered();
      answer();
      await untilStates('delivered');
      expect(fixture.receiver.requests).toHaveLength(2);
      expect(await records()).toMatchObject([{ attempts: 2, last_status: 200 }]);
    },
  );

  it('during its attempt, and then accepts that attempt, gets it once', async () => {
    await fixture.createEndpoint();
    const answer = holdFirstAnswer(200);
    await started().handle(await fixture.paymentEvent());
    await fixture.receiver.waitFor(() => true);
    fixture.advance(1);
    await redelivered();
    answer();
    await untilStates('delivered');
    expect(fixture.receiver.requests).toHaveLength(1);
  });

  it('at the moment when it fails for good gets it again when the lease of that attempt ends', async () => {
    await fixture.createEndpoint();
    fixture.receiver.respondWith((_, index) => ({ status: index === 0 ? 400 : 200 }));
    const pool = aroundQueries(fixture.pool, async (statement, send) => {
      const result = await send();
      if (statement === 'webhook_askedAgain') {
        fixture.advance(1);
        await redelivered();
      }
      return result;
    });
    await started({ pool }).handle(await fixture.paymentEvent());
    await until(async () => (await attempts()) === 1, { timeoutMs });
    fixture.advance(leaseMs(testConfig.PIS_WEBHOOK_TIMEOUT_MS));
    await untilStates('delivered');
    expect(fixture.receiver.requests).toHaveLength(2);
  });

  it('gets it again although its dispatcher does not know whether the last attempt is recorded', async () => {
    await fixture.createEndpoint();
    let isLost = false;
    const pool = aroundQueries(fixture.pool, async (statement, send) => {
      const result = await send();
      if (statement !== 'webhook_finish' || isLost) return result;
      isLost = true;
      await redelivered();
      throw new Error('connection lost');
    });
    await started({ pool }).handle(await fixture.paymentEvent());
    await until(() => fixture.receiver.requests.length === 2, { timeoutMs });
    await untilStates('delivered');
    expect(await attempts()).toBe(2);
  });

  const attempts = async () => (await fixture.query('SELECT 1 FROM webhook_attempts')).length;

  async function redelivered(): Promise<void> {
    const [row] = await records();
    const delivery = await deliveryLog(fixture.pool).find(row?.id ?? '');
    if (delivery === null) throw new Error('there is no delivery');
    const windows = { payment: dayMs, statement: dayMs };
    const pastEvents = () => Promise.resolve([]);
    expect(
      await redeliver(fixture.pool, delivery, { pastEvents, windows, now: fixture.now() }),
    ).toBe(true);
  }
});

describe('A client receives its webhook although', () => {
  it('its dispatcher stops while the delivery is being stored: the stop waits for the attempt', async () => {
    await fixture.createEndpoint();
    const stopped = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    fixture.receiver.respondWith((_, index) => {
      if (index === 1) return { after: second.promise };
      return index === 2 ? { after: Promise.race([stopped.promise, delay(patienceMs)]) } : {};
    });
    const stored = Promise.withResolvers<void>();
    let inserts = 0;
    const pool = aroundQueries(fixture.pool, async (statement, send) => {
      const result = await send();
      if (statement === 'webhook_insert' && ++inserts === 3) await stored.promise;
      return result;
    });
    const limits = { ...testLimits, slowAfterMs: 60_000, perEndpointInitial: 1, perEndpointMax: 1 };
    const dispatcher = started({ pool, limits });
    await dispatcher.handle(await fixture.paymentEvent());
    await untilStates('delivered');
    await dispatcher.handle(await fixture.paymentEvent());
    await until(() => fixture.receiver.requests.length === 2, { timeoutMs });

    // It has a place in the waiting room, and its answer comes when nothing else is in flight.
    const handled = dispatcher.handle(await fixture.paymentEvent());
    await until(() => inserts === 3, { timeoutMs });
    const stopping = dispatcher.stop().then(() => stopped.resolve());
    second.resolve();
    await until(
      async () => (await records()).filter(({ state }) => state === 'delivered').length === 2,
      { timeoutMs },
    );
    stored.resolve();
    await Promise.all([handled, stopping]);
    expect(fixture.receiver.requests).toHaveLength(3);
    expect((await records()).map(({ state }) => state)).toEqual(Array(3).fill('delivered'));
  });

  it('its endpoint takes long to be looked up: not under a lease that may end before the attempt', async () => {
    await fixture.createEndpoint();
    const beginWithinMs = 100;
    const readStream = fixture.store.readStream.bind(fixture.store);
    let reads = 0;
    fixture.store.readStream = async (...args) => {
      const events = await readStream(...args);
      // The first is the fan-out's.
      if (++reads === 2) await delay(beginWithinMs + 1);
      return events;
    };
    // Never started, so it claims nothing.
    const dispatcher = fixture.dispatcher({ limits: { ...testLimits, beginWithinMs } });
    await dispatcher.handle(await fixture.paymentEvent());
    await until(async () => reads === 2 && (await leased()) === 0, { timeoutMs });
    expect(fixture.receiver.requests).toHaveLength(0);
    started();
    await untilStates('delivered');
    expect(fixture.receiver.requests).toHaveLength(1);
  });

  it.each([
    ['taken it is not sent again', 200, 1],
    ['refused for now it is sent when it is due', 500, 2],
  ])('its dispatcher leases it again during its attempt: %s', async (_what, status, requests) => {
    await fixture.createEndpoint();
    const answer = holdFirstAnswer(status);
    let claimed = 0;
    const pool = aroundQueries(fixture.pool, async (statement, send) => {
      const result = await send();
      if (statement === 'webhook_claim') claimed += result.rows.length;
      return result;
    });
    const config = { ...testConfig, PIS_WEBHOOK_TIMEOUT_MS: 60_000 };
    const limits = { ...testLimits, slowAfterMs: 60_000 };
    await started({ pool, config, limits }).handle(await fixture.paymentEvent());
    await fixture.receiver.waitFor(() => true);
    fixture.advance(leaseMs(config.PIS_WEBHOOK_TIMEOUT_MS));
    await until(() => claimed === 1, { timeoutMs, what: 'a second lease' });
    answer();
    await until(async () => (await records())[0]?.attempts === 1 && (await leased()) === 0, {
      timeoutMs,
    });
    expect(fixture.receiver.requests).toHaveLength(1);
    fixture.advance(config.PIS_WEBHOOK_RETRY_INITIAL_MS);
    await untilStates('delivered');
    expect(fixture.receiver.requests).toHaveLength(requests);
  });

  it('the answer to a claim of it is lost: it does not wait until the lease ends', async () => {
    await fixture.createEndpoint();
    fixture.receiver.respondWith((_, index) => ({ status: index === 0 ? 500 : 200 }));
    let lost = 0;
    const pool = aroundQueries(fixture.pool, async (statement, send) => {
      const result = await send();
      if (statement === 'webhook_claim' && lost === 0) {
        lost = result.rows.length;
        throw new Error('connection lost');
      }
      return result;
    });
    await started({ pool }).handle(await fixture.paymentEvent());
    await until(async () => (await records())[0]?.attempts === 1, { timeoutMs });
    fixture.advance(testConfig.PIS_WEBHOOK_RETRY_INITIAL_MS);
    await untilStates('delivered');
    expect(lost).toBe(1);
    expect(fixture.receiver.requests).toHaveLength(2);
  });

  it.each([
    ['08006', 'an attempt could not be recorded yet'],
    ['22000', 'a delivery waits for its lease to end'],
  ])('its record fails with %s, and the log names the delivery', async (code, msg) => {
    const { endpointId } = await fixture.createEndpoint();
    const lines: { readonly msg: string }[] = [];
    const write = (line: string) => void lines.push(JSON.parse(line) as { msg: string });
    const logger = pino({ base: null }, { write });
    let isFirst = true;
    const pool = aroundQueries(fixture.pool, (statement, send) => {
      if (statement !== 'webhook_finish' || !isFirst) return send();
      isFirst = false;
      return Promise.reject(Object.assign(new Error('not recorded'), { code }));
    });
    await started({ pool, logger }).handle(await fixture.paymentEvent());
    const logged = await until(() => lines.find((line) => line.msg === msg), { timeoutMs });
    expect(logged).toMatchObject({ deliveryId: (await records())[0]?.id, endpointId });
    fixture.advance(leaseMs(testConfig.PIS_WEBHOOK_TIMEOUT_MS));
    await untilStates('delivered');
  });

  it('it asks for more time than the window has: one more attempt before the end, also if it starts late', async () => {
    await fixture.createEndpoint();
    fixture.receiver.respondWith((_, index) =>
      index === 0 ? { status: 503, headers: { 'Retry-After': '3600' } } : {},
    );
    const config = { ...testConfig, PIS_WEBHOOK_RETRY_WINDOW_PAYMENTS_MS: 1_800_000 };
    await started({ config }).handle(await fixture.paymentEvent());
    await until(async () => (await records())[0]?.attempts === 1, { timeoutMs });
    const [row] = await fixture.query<{ next_attempt_at: Date }>(
      'SELECT next_attempt_at FROM webhook_deliveries',
    );
    fixture.advance((row?.next_attempt_at.getTime() ?? 0) - fixture.now().getTime() + 1_000);
    await untilStates('delivered');
    expect(fixture.receiver.requests).toHaveLength(2);
  });
});

const leased = async () =>
  (await fixture.query('SELECT 1 FROM webhook_deliveries WHERE leased_until IS NOT NULL')).length;

/** The pool. It passes its own statements to `around`, by name, which sends them. */
function aroundQueries(
  pool: pg.Pool,
  around: (statement: string, send: () => Promise<pg.QueryResult>) => Promise<pg.QueryResult>,
): pg.Pool {
  return new Proxy(pool, {
    get(target, property) {
      if (property !== 'query') return Reflect.get(target, property) as unknown;
      return (query: pg.QueryConfig, values?: unknown[]) =>
        around(query.name ?? '', () => target.query(query, values));
    },
  });
}
