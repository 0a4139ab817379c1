/** Idle dispatchers hardly look at the table of deliveries, and are woken for what others leave in it. */
import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { until } from '@pis/local-servers/testing';
import { Listener, WakeUps, workChannel } from '@pis/postgres';
import { deliveryLog, redeliver } from '@pis/webhook-deliveries';
import type pg from 'pg';
import {
  type DispatcherFixture,
  dispatcherFixture,
  testConfig,
  testLimits,
} from './testing/dispatcher-fixture.js';

jest.setTimeout(120_000);

const timeoutMs = 30_000;
const hourMs = 3_600_000;
/** A dispatcher that is not woken waits longer than any test. */
const limits = { ...testLimits, pollMaxMs: hourMs };
const wakeUpsLimits = { idleMs: hourMs, idleWithoutListenMs: hourMs };

let fixture: DispatcherFixture;
let listeners: Listener[];
/** Looks at the table, of each dispatcher. */
let looks: Map<string, number>;

beforeEach(async () => {
  fixture = await dispatcherFixture();
  [listeners, looks] = [[], new Map()];
});
afterEach(async () => {
  await fixture.close();
  await Promise.all(listeners.map((listener) => listener.stop()));
});

/** A process of its own. Resolves once it is idle and hears the others. */
async function idleDispatcher(concurrency = 640) {
  const owner = randomUUID();
  const listener = new Listener({
    ...{ channels: [workChannel], connection: { connectionString: fixture.databaseUrl } },
    ...{ retryInitialMs: 50, retryMaxMs: 2_000, connectTimeoutMs: 10_000, senders: fixture.pool },
  });
  listeners.push(listener);
  const dispatcher = fixture.dispatcher({
    ...{ owner, limits, pool: countingLooks(owner) },
    config: { ...testConfig, PIS_WEBHOOK_CONCURRENCY: concurrency },
    deliveriesWakeUp: new WakeUps(listener, wakeUpsLimits).for('deliveries'),
  });
  dispatcher.start();
  listener.start();
  await until(() => listener.isProven, { timeoutMs });
  await until(() => looks.get(owner), { timeoutMs });
  return { dispatcher, owner };
}

function countingLooks(owner: string): pg.Pool {
  return new Proxy(fixture.pool, {
    get(pool, property) {
      const value: unknown = Reflect.get(pool, property, pool);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        const { name } = Object(args[0]) as { readonly name?: string };
        if (name === 'webhook_due') looks.set(owner, (looks.get(owner) ?? 0) + 1);
        return Reflect.apply(value, pool, args);
      };
    },
  });
}

const untilDelivered = (count: number) =>
  until(
    async () => {
      const [row] = await fixture.query<{ n: number }>(
        `SELECT count(*)::int AS n FROM webhook_delivery_records WHERE state = 'delivered'`,
      );
      return row?.n === count;
    },
    { timeoutMs },
  );

it('a delivery that is requested again is sent at once', async () => {
  await fixture.createEndpoint();
  const { dispatcher } = await idleDispatcher();
  await dispatcher.handle(await fixture.paymentEvent());
  await untilDelivered(1);
  for (let times = 2; times <= 3; times += 1) {
    const [row] = await fixture.query<{ id: string }>('SELECT id FROM webhook_delivery_records');
    const delivery = await deliveryLog(fixture.pool).find(row?.id ?? '');
    if (delivery === null) throw new Error('there is no delivery');
    await redeliver(fixture.pool, delivery, {
      pastEvents: () => Promise.resolve([]),
      windows: { payment: hourMs, statement: hourMs },
      now: fixture.now(),
    });
    await until(() => fixture.receiver.requests.length === times, { timeoutMs });
    await untilDelivered(1);
  }
});

it('what one dispatcher has no room for, another begins', async () => {
  await fixture.createEndpoint();
  fixture.receiver.respondWith(() => ({ delayMs: 2_000 }));
  const busy = await idleDispatcher(10);
  const idle = await idleDispatcher();
  const events = await Promise.all(Array.from({ length: 12 }, () => fixture.paymentEvent()));
  for (const event of events) await busy.dispatcher.handle(event);
  await until(
    async () =>
      (await fixture.query('SELECT 1 FROM webhook_deliveries WHERE lease_owner = $1', [idle.owner]))
        .length > 0,
    { timeoutMs },
  );
  fixture.receiver.respondWith(() => ({}));
  await untilDelivered(12);
});

it('what waits for an attempt when a dispatcher stops, another begins', async () => {
  await fixture.createEndpoint();
  const first = await idleDispatcher();
  const second = await idleDispatcher();
  // From now on the first one knows the endpoint as quick.
  await first.dispatcher.handle(await fixture.paymentEvent());
  await untilDelivered(1);
  fixture.receiver.respondWith(() => ({ delayMs: 1_000 }));
  const events = await Promise.all(Array.from({ length: 20 }, () => fixture.paymentEvent()));
  await Promise.all(events.map((event) => first.dispatcher.handle(event)));
  const before = looks.get(second.owner) ?? 0;
  const stopped = first.dispatcher.stop();
  fixture.receiver.respondWith(() => ({}));
  await stopped;
  await untilDelivered(21);
  expect(looks.get(second.owner)).toBeGreaterThan(before);
});
