/**
 * A dispatcher on a machine with a wrong clock sends nothing. A receiver would refuse what it signs (rule signature-3), and the refusal
 * would end the delivery (rule delivery-6).
 */
import { until } from '@pis/local-servers/testing';
import { pino } from 'pino';
import { type DispatcherFixture, dispatcherFixture } from './testing/dispatcher-fixture.js';

const minuteMs = 60_000;
const timeoutMs = 20_000;

let fixture: DispatcherFixture;
beforeEach(async () => {
  fixture = await dispatcherFixture();
  await fixture.createEndpoint();
});
afterEach(() => fixture.close());

const deliveries = () =>
  fixture.query<{ state: string; attempts: number }>(
    'SELECT state, attempts FROM webhook_delivery_records',
  );
const untilDelivered = () =>
  until(async () => (await deliveries())[0]?.state === 'delivered', { timeoutMs });

function startedWith(offMs: number) {
  const lines: string[] = [];
  const dispatcher = fixture.dispatcher({
    wallClock: () => Date.now() + offMs,
    logger: pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }),
  });
  dispatcher.start();
  const refusals = () => lines.filter((line) => line.includes('so it sends no webhooks')).length;
  return { dispatcher, refusals };
}

it.each([5 * minuteMs, -5 * minuteMs])(
  'a webhook waits at a dispatcher that is off by %i ms, and another one sends it',
  async (offMs) => {
    const wrong = startedWith(offMs);
    await wrong.dispatcher.handle(await fixture.paymentEvent());
    // It has looked into the table more than once.
    await until(() => wrong.refusals() > 1, { timeoutMs });
    expect(await deliveries()).toEqual([{ state: 'pending', attempts: 0 }]);
    expect(fixture.receiver.requests).toEqual([]);
    startedWith(0);
    await untilDelivered();
    expect(fixture.receiver.requests).toHaveLength(1);
  },
);

it('a retry waits, too', async () => {
  fixture.receiver.respondWith((_, index) => ({ status: index === 0 ? 500 : 200 }));
  const first = startedWith(0);
  await first.dispatcher.handle(await fixture.paymentEvent());
  await until(async () => (await deliveries())[0]?.attempts === 1, { timeoutMs });
  await first.dispatcher.stop();
  fixture.advance(minuteMs);
  const wrong = startedWith(-10 * minuteMs);
  await until(() => wrong.refusals() > 1, { timeoutMs });
  expect(fixture.receiver.requests).toHaveLength(1);
  startedWith(0);
  await untilDelivered();
  expect(fixture.receiver.requests).toHaveLength(2);
});

it('a dispatcher that is off by three minutes sends webhooks', async () => {
  const { dispatcher } = startedWith(3 * minuteMs);
  await dispatcher.handle(await fixture.paymentEvent());
  await untilDelivered();
});
