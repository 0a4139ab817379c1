import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import { arrivalsOf } from './lifecycle.mjs';
import { machineMs } from './machine-clock.mjs';
import { deliveryOf, firstWebhooksBySecond } from './pace.mjs';
import { startHelper } from './processes.mjs';

const types = ['payment.queued', 'payment.processing', 'payment.completed'];

/** Payments are reported in the order of their answers: here the one that was sent first is answered last. */
const payments = [
  ['second', 10_020, 5],
  ['third', 11_030, 5],
  ['first', 10_000, 40],
];

/** Each payment's webhooks come 100, 200 and 300 ms after it was sent. */
function arrived() {
  const arrivals = arrivalsOf();
  for (const [id, atMs] of payments)
    arrivals.add(types.map((type, n) => [id, type, atMs + (n + 1) * 100]));
  return arrivals;
}

describe('the figures of a steady pace', () => {
  it('put each payment into the second in which it was sent, whichever is answered first', () => {
    expect(firstWebhooksBySecond(payments, arrived(), 2)).toEqual([[100, 100], [100]]);
  });

  it('begin with the payment that was sent first', () => {
    const { deliveredPerSecond } = deliveryOf(payments, arrived(), 1);
    expect(deliveredPerSecond).toBeCloseTo(3 / 1.33);
  });

  it('do not take a webhook that is repeated for the next one', () => {
    const arrivals = arrivalsOf();
    arrivals.add([
      ['first', types[0], 10_100],
      ['first', types[0], 10_150],
      ['first', types[1], 10_200],
      ['first', types[1], 10_900],
    ]);
    expect(arrivals.of('first')).toEqual([10_100, 10_200]);
  });

  it('come from one clock, which nobody sets, in the processes of the client and of the receiver', async () => {
    const receiver = await startHelper('receiver.mjs');
    const { url, caFile } = receiver.hello;
    const dispatcher = new Agent({ connect: { ca: readFileSync(caFile) } });
    try {
      const reported = once(receiver.child, 'message');
      const sentAtMs = machineMs();
      const body = JSON.stringify({ eventType: types[0], data: { paymentId: 'first' } });
      await request(`${url}/hook`, { method: 'POST', body, dispatcher });
      const [{ arrivals }] = await reported;
      const [[, , atMs]] = arrivals;
      expect(atMs).toBeGreaterThan(sentAtMs);
      expect(atMs).toBeLessThan(machineMs());
    } finally {
      await dispatcher.close();
      await receiver.stop();
    }
    expect(existsSync(caFile)).toBe(false);
  });
});
