import { jest } from '@jest/globals';
import { until } from '@pis/local-servers/testing';
import { deliveryLog, redeliver, reviveDeliveries } from '@pis/webhook-deliveries';
import type pg from 'pg';
import {
  type DispatcherFixture,
  dispatcherFixture,
  testConfig,
} from './testing/dispatcher-fixture.js';

jest.setTimeout(60_000);

const timeoutMs = 20_000;
const windowMs = testConfig.PIS_WEBHOOK_RETRY_WINDOW_PAYMENTS_MS;
const windows = { payment: windowMs, statement: windowMs };

let fixture: DispatcherFixture;
let endpointId: string;
beforeEach(async () => {
  fixture = await dispatcherFixture();
  ({ endpointId } = await fixture.createEndpoint());
});
afterEach(() => fixture.close());

interface Row {
  readonly id: string;
  readonly state: string;
  readonly attempts: number;
  readonly window_ends_at: Date;
}
const record = async () => {
  const [row] = await fixture.query<Row>(
    'SELECT id, state, attempts, window_ends_at FROM webhook_delivery_records',
  );
  if (row === undefined) throw new Error('there is no delivery');
  return row;
};
const untilState = (state: string) =>
  until(async () => (await record()).state === state, { timeoutMs, what: state });
const enable = (enabled: boolean) =>
  fixture.change({
    type: 'UpdateWebhookEndpoint',
    at: fixture.now().toISOString(),
    data: { organizationId: fixture.organizationId, endpointId, changes: { enabled } },
  });
const stored = async () => {
  const delivery = await deliveryLog(fixture.pool).find((await record()).id);
  if (delivery === null) throw new Error('there is no delivery');
  return delivery;
};
const asked = {
  async 'by hand'(now: Date) {
    const pastEvents = () => Promise.resolve([]);
    return redeliver(fixture.pool, await stored(), { pastEvents, windows, now });
  },
  async 'in a replay'(now: Date) {
    const delivery = await stored();
    const windowEndsAt = new Date(now.getTime() + windowMs);
    const revived = { ...delivery, body: delivery.body ?? '', windowEndsAt };
    const ids = await reviveDeliveries(fixture.pool, [revived], { now, isReplay: true });
    return ids.size === 1;
  },
} as const;
const ways = Object.keys(asked) as (keyof typeof asked)[];

/** The delivery failed once and waits. */
async function failedOnce(): Promise<void> {
  fixture.receiver.respondWith((_, index) => ({ status: index === 0 ? 500 : 200 }));
  const dispatcher = fixture.dispatcher();
  dispatcher.start();
  await dispatcher.handle(await fixture.paymentEvent());
  await until(async () => (await record()).attempts === 1, { timeoutMs });
  await dispatcher.stop();
}

describe('A pending delivery that is requested again', () => {
  it.each(ways)(
    '%s is sent, although its window ended while its endpoint was disabled',
    async (way) => {
      await failedOnce();
      await enable(false);
      fixture.advance(windowMs + 1);
      await enable(true);
      expect(await asked[way](fixture.now())).toBe(true);
      expect((await record()).window_ends_at).toEqual(new Date(fixture.now().getTime() + windowMs));
      fixture.dispatcher().start();
      await untilState('delivered');
      expect(fixture.receiver.requests).toHaveLength(2);
    },
  );

  it.each(ways)(
    '%s is sent unchanged, although the day of its event was dropped since',
    async (way) => {
      await failedOnce();
      expect(await asked[way](fixture.now())).toBe(true);
      await fixture.query('TRUNCATE webhook_fan_outs');
      fixture.dispatcher().start();
      await untilState('delivered');
      const [first, again] = fixture.receiver.requests.map(({ body }) => body);
      expect(again).toBe(first);
    },
  );

  it.each(ways)('%s keeps its window when that ends later', async (way) => {
    await failedOnce();
    const { window_ends_at: before } = await record();
    expect(await asked[way](new Date(fixture.now().getTime() - 60_000))).toBe(true);
    expect((await record()).window_ends_at).toEqual(before);
  });

  it('is sent while a dispatcher is about to end it because its window is over', async () => {
    await failedOnce();
    fixture.advance(windowMs + 1);
    let isFirst = true;
    const pool = aroundQueries(fixture.pool, async (statement, send) => {
      if (statement === 'webhook_finish' && isFirst) {
        isFirst = false;
        await asked['by hand'](fixture.now());
      }
      return send();
    });
    fixture.dispatcher({ pool }).start();
    await until(() => !isFirst, { timeoutMs });
    // A delivery that was leased at the request is free when that lease ends, at the latest.
    await until(
      async () => {
        fixture.advance(1_000);
        return (await record()).state === 'delivered';
      },
      { timeoutMs, what: 'delivered' },
    );
    expect(fixture.receiver.requests).toHaveLength(2);
  });

  it('is sent again whatever the clocks of the requester and the dispatcher say', async () => {
    const answer = Promise.withResolvers<void>();
    fixture.receiver.respondWith((_, index) =>
      index === 0 ? { status: 400, after: answer.promise } : {},
    );
    const dispatcher = fixture.dispatcher();
    dispatcher.start();
    await dispatcher.handle(await fixture.paymentEvent());
    await fixture.receiver.waitFor(() => true);
    expect(await asked['by hand'](new Date(fixture.now().getTime() - 5_000))).toBe(true);
    answer.resolve();
    await untilState('delivered');
    expect(fixture.receiver.requests).toHaveLength(2);
  });
});

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
