/** From the request to the client's endpoint: latency at a steady pace, and how many whole lifecycles per second. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { machineMs } from './machine-clock.mjs';
import { call } from './requests.mjs';
import { quantilesOf } from './statistics.mjs';

const webhooksPerPayment = 3;
const arrivalLimitMs = 60_000;

/**
 * When the webhooks of each payment came first. A delivery may be repeated: it is no further webhook.
 * @returns `add(batch)` of [paymentId, eventType, atMs], `of(paymentId)`, the times in ms, and `clear()`
 */
export function arrivalsOf() {
  const byPayment = new Map();
  return {
    add(batch) {
      for (const [paymentId, eventType, atMs] of batch) {
        const seen = byPayment.get(paymentId) ?? new Map();
        if (!seen.has(eventType)) byPayment.set(paymentId, seen.set(eventType, atMs));
      }
    },
    of: (paymentId) => [...(byPayment.get(paymentId)?.values() ?? [])],
    clear: () => byPayment.clear(),
  };
}

/** Registers the receiver while `work(arrivals)` runs. */
export async function withEndpoint({ url, headers }, receiver, work) {
  const endpoint = await call(url, headers, 'POST', '/v1/webhooks', {
    url: `${receiver.hello.url}/hook`,
    subscribedEvents: ['payment.*'],
  });
  const arrivals = arrivalsOf();
  const listen = ({ arrivals: batch }) => arrivals.add(batch);
  receiver.child.on('message', listen);
  try {
    return await work(arrivals);
  } finally {
    receiver.child.off('message', listen);
    await fetch(`${url}/v1/webhooks/${endpoint.data.id}`, { method: 'DELETE', headers });
  }
}

async function create({ url, headers, payment }) {
  const answer = await call(
    url,
    { ...headers, 'idempotency-key': randomUUID() },
    'POST',
    '/v1/payments/',
    payment,
  );
  return answer.data.paymentId;
}

/** Open loop: a payment every 1/perSecond, whatever the others do. */
export function firstWebhookLatency(target, receiver, { perSecond, seconds }) {
  return withEndpoint(target, receiver, async (arrivals) => {
    const created = new Map();
    const pending = [];
    const startedAt = performance.now();
    for (let n = 0; n < perSecond * seconds; n += 1) {
      await delay(Math.max(0, startedAt + (n * 1000) / perSecond - performance.now()));
      const atMs = machineMs();
      pending.push(create(target).then((paymentId) => created.set(paymentId, atMs)));
    }
    await Promise.all(pending);
    await allArrived(arrivals, created.keys());
    // The first second warms up connections and code.
    const latencies = [...created]
      .slice(perSecond)
      .map(([paymentId, atMs]) => Math.min(...arrivals.of(paymentId)) - atMs);
    return { perSecond, ...quantilesOf(latencies) };
  });
}

/** Closed loop: created → COMPLETED → three webhooks received, until all are through. */
export function fullLifecycles(target, receiver, { payments, connections }) {
  return withEndpoint(target, receiver, async (arrivals) => {
    const startedAt = performance.now();
    await allArrived(arrivals, await createMany(target, { payments, connections }));
    const seconds = (performance.now() - startedAt) / 1000;
    return { payments, seconds, perSecond: payments / seconds };
  });
}

/** Closed loop. @returns the IDs of the payments */
export async function createMany(target, { payments, connections }) {
  const created = [];
  let left = payments;
  const one = async () => {
    while (left-- > 0) created.push(await create(target));
  };
  await Promise.all(Array.from({ length: connections }, one));
  return created;
}

/** Until each of the payments has all its webhooks. @throws Error after limitMs */
export async function allArrived(arrivals, paymentIds, limitMs = arrivalLimitMs) {
  const waiting = new Set(paymentIds);
  const deadline = performance.now() + limitMs;
  while (waiting.size > 0) {
    for (const paymentId of waiting)
      if (arrivals.of(paymentId).length >= webhooksPerPayment) waiting.delete(paymentId);
    if (performance.now() > deadline)
      throw new Error(`${waiting.size} payments without their ${webhooksPerPayment} webhooks`);
    await delay(20);
  }
}
