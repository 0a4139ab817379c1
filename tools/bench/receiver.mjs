/**
 * A client's webhook endpoint in a process of its own: answers 200 at once and reports to its parent, in
 * batches, which events came when, by the machine's clock.
 */
import { startHttpsReceiver } from '@pis/local-servers/testing';
import { machineMs } from './machine-clock.mjs';

const flushEveryMs = 50;
const receiver = await startHttpsReceiver();
let batch = [];

receiver.respondWith(({ body }) => {
  const { eventType, data } = JSON.parse(body);
  batch.push([data.paymentId, eventType, machineMs()]);
  return { status: 200 };
});

const flushing = setInterval(() => {
  if (batch.length === 0) return;
  process.send({ arrivals: batch });
  batch = [];
}, flushEveryMs);
process.send({ url: receiver.url, caFile: receiver.caFile });
process.once('disconnect', () => {
  clearInterval(flushing);
  void receiver.close().finally(() => process.exit(0));
});
