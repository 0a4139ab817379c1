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
  const webhook = (pick) => payments.map(([id, atMs]) => pick(...arrivals.of(id)) - atMs);
  const lastAtMs = payments.reduce((last, [id]) => Math.max(last, ...arrivals.of(id)), 0);
  return {
    deliveredPerSecond:
      (payments.length * 1000) / Math.max(seconds * 1000, lastAtMs - firstSentAtMs(payments)),
    answer: quantilesOf(payments.map(([, , tookMs]) => tookMs)),
    firstWebhook: quantilesOf(webhook(Math.min)),
    lastWebhook: quantilesOf(webhook(Math.max)),
  };
}

/** Latencies of the first webhook in ms, for each second in which payments were sent. */
export function firstWebhooksBySecond(payments, arrivals, seconds) {
  const startedAtMs = firstSentAtMs(payments);
  const bySecond = Array.from({ length: seconds }, () => []);
  for (const [id, atMs] of payments) {
    const second = Math.min(seconds - 1, Math.floor((atMs - startedAtMs) / 1000));
    bySecond[second].push(Math.min(...arrivals.of(id)) - atMs);
  }
  return bySecond;
}

/** Payments come in the order of their answers, and not in that of their requests. */
function firstSentAtMs(payments) {
  return payments.reduce((first, [, atMs]) => Math.min(first, atMs), Infinity);
}
