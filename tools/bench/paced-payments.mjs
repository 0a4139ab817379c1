/**
 * A client that creates payments at a steady pace, however slow the answers are. It is a process of its own and stays, so
 * that its connections stay, too. For each task it reports, in batches, [paymentId, when it was sent, how long the
 * answer took], in milliseconds, and at last `{ done: true }`.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { machineMs } from './machine-clock.mjs';

const flushEveryMs = 100;
let batch = [];
let pool = null;

process.on('message', (task) => {
  load(task).catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  });
});

async function load({ origin, path, headers, body, connections, perSecond, seconds }) {
  pool ??= new Pool(origin, { connections, pipelining: 1 });
  const pending = [];
  const startedAt = performance.now();
  for (let n = 0; n < perSecond * seconds; n += 1) {
    const earlyMs = startedAt + (n * 1000) / perSecond - performance.now();
    if (earlyMs > 0) await delay(earlyMs);
    pending.push(create({ path, headers, body }));
  }
  await Promise.all(pending);
  // A rate of one a second ends with a whole second, too.
  await delay(Math.max(0, startedAt + seconds * 1000 - performance.now()));
  flush();
  process.send({ done: true });
}

async function create({ path, headers, body }) {
  const atMs = machineMs();
  const response = await pool.request({
    method: 'POST',
    path,
    headers: { ...headers, 'idempotency-key': randomUUID() },
    body,
  });
  const answer = await response.body.text();
  if (response.statusCode !== 201) throw new Error(`${response.statusCode} ${answer}`);
  const tookMs = machineMs() - atMs;
  batch.push([JSON.parse(answer).data.paymentId, atMs, tookMs]);
}

function flush() {
  if (batch.length > 0) process.send({ created: batch });
  batch = [];
}

setInterval(flush, flushEveryMs);
process.send({ ready: true });
process.once('disconnect', () => process.exit(0));
