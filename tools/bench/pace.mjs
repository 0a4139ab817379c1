/** Payments at a steady pace from a client in a process of its own, until each has its webhooks. */
import { allArrived } from './lifecycle.mjs';
import { startHelper } from './processes.mjs';
import { paymentLoad } from './requests.mjs';
import { quantilesOf } from './statistics.mjs';

const connections = 64;
/** A system that is too slow for the pace needs longer than the load took. */
const drainLimitMs = 600_000;

/**
 * @param arrivals of the receiver, by payment (lifecycle.mjs)
 * @returns `pay({ perSecond, seconds })`, which answers with [paymentId, when it was sent, how long the answer took] of
 * each payment in ms once all webhooks have come, and `stop()`
 */
export async function startPace(target, arrivals) {
  const client = await startHelper('paced-payments.mjs');
  const failed = new Promise((_, reject) => {
    client.child.once('exit', (code) => reject(new Error(`the client exited: ${code}`)));
  });
  failed.catch(() => undefined);
  return {
    async pay({ perSecond, seconds }) {
      const payments = [];
      const done = new Promise((resolve) => {
        client.child.on('message', function listen({ created = [], done: isDone = false }) {
          for (const payment of created) payments.push(payment);
          if (!isDone) return;
          client.child.off('message', listen);
          resolve();
        });
      });
      const load = paymentLoad(target, { connections, seconds, warmupSeconds: 0 });
      client.child.send({ ...load, perSecond });
      await Promise.race([done, failed]);
      const paymentIds = payments.map(([paymentId]) => paymentId);
      await allArrived(arrivals, paymentIds, drainLimitMs);
      return payments;
    },
    stop: client.stop,
  };
}

/**
 * Of payments that were created within `seconds`: how many were delivered per second until the last webhook, at most the rate of
 * the load, and latencies in ms: of the answer, and from the request to the first and to the last webhook.
 */
export function deliveryOf(payments, arrivals, seconds) {
  const webhook = (pick) => payments.map(([id, atMs]) => pick(...arrivals.get(id)) - atMs);
  const [, firstAtMs] = payments[0];
  const lastAtMs = payments.reduce((last, [id]) => Math.max(last, ...arrivals.get(id)), 0);
  return {
    deliveredPerSecond: (payments.length * 1000) / Math.max(seconds * 1000, lastAtMs - firstAtMs),
    answer: quantilesOf(payments.map(([, , tookMs]) => tookMs)),
    firstWebhook: quantilesOf(webhook(Math.min)),
    lastWebhook: quantilesOf(webhook(Math.max)),
  };
}
