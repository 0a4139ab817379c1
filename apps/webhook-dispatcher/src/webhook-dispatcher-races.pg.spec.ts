import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { until } from '@pis/local-servers/testing';
import type pg from 'pg';
import {
  type DispatcherFixture,
  dispatcherFixture,
  testLimits,
} from './testing/dispatcher-fixture.js';

jest.setTimeout(60_000);

const timeoutMs = 20_000;
/** How long is waited for what must not happen. */
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

describe('A client receives its webhook although', () => {
  it('its dispatcher ends while the delivery is being stored: the attempt is waited for', async () => {
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

    // It has a place in the waiting room, and its answer comes when nothing else is on its way.
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
    // Never started: it claims nothing once more.
    const dispatcher = fixture.dispatcher({ limits: { ...testLimits, beginWithinMs } });
    await dispatcher.handle(await fixture.paymentEvent());
    await until(async () => reads === 2 && (await leased()) === 0, { timeoutMs });
    expect(fixture.receiver.requests).toHaveLength(0);
    started();
    await untilStates('delivered');
    expect(fixture.receiver.requests).toHaveLength(1);
  });

  it('it asks for more time than the window has: once more before its end, by whoever wakes a little late', async () => {
    await fixture.createEndpoint();
    fixture.receiver.respondWith((_, index) =>
      index === 0 ? { status: 503, headers: { 'Retry-After': String(dayMs) } } : {},
    );
    await started().handle(await fixture.paymentEvent());
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

/** The pool, whose own statements are given to `around`, by name: it sends them. */
function aroundQueries(
  pool: pg.Pool,
  around: (statement: string, send: () => Promise<pg.QueryResult>) => Promise<pg.QueryResult>,
): pg.Pool {
  return new Proxy(pool, {
    get(target, property) {
      if (property !== 'query') return Reflect.get(target, property) as unknown;
      return (query: pg.QueryConfig) => around(query.name ?? '', () => target.query(query));
    },
  });
}
