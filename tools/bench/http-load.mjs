/**
 * One process of HTTP load: a closed loop of N connections, keep-alive, one request in flight each.
 * Its parent controls it over IPC. It answers with counts and latencies in milliseconds.
 */
import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { quantilesOf } from './statistics.mjs';

process.once('message', (task) => {
  load(task).then(
    (result) => process.send(result, () => process.disconnect()),
    (error) => {
      process.stderr.write(`${error.stack}\n`);
      process.exit(1);
    },
  );
});

async function load({
  origin,
  method,
  path,
  headers,
  body,
  keyed,
  keys,
  connections,
  seconds,
  warmupSeconds,
}) {
  const pool = new Pool(origin, { connections, pipelining: 1 });
  const latencies = [];
  const statuses = {};
  const startedAt = performance.now() + warmupSeconds * 1000;
  const endsAt = startedAt + seconds * 1000;
  let asked = 0;
  const headersOf = () => ({
    ...headers,
    ...(keyed ? { 'idempotency-key': randomUUID() } : {}),
    // API keys that take turns.
    ...(keys ? { authorization: `Bearer ${keys[asked++ % keys.length]}` } : {}),
  });
  const one = async () => {
    for (let now = performance.now(); now < endsAt; ) {
      const response = await pool.request({
        method,
        path,
        headers: headersOf(),
        body: body ?? null,
      });
      await response.body.dump();
      const after = performance.now();
      if (now >= startedAt && after <= endsAt) {
        latencies.push(after - now);
        statuses[response.statusCode] = (statuses[response.statusCode] ?? 0) + 1;
      }
      now = after;
    }
  };
  await Promise.all(Array.from({ length: connections }, one));
  await pool.close();
  return {
    perSecond: latencies.length / seconds,
    ...quantilesOf(latencies),
    statuses,
  };
}
