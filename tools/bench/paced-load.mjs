/**
 * One process of HTTP load at a steady pace: `perSecond` GET requests to `paths` in turn, however slow the answers
 * are. Its parent controls it over IPC. Latencies are in milliseconds and begin when a request was due: a request
 * that had to wait for the server counts as its visitor felt it. Behind a proxy that the server trusts, the requests come
 * from so many `visitors` in turn.
 */
import { setTimeout as delay } from 'node:timers/promises';
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

async function load(task) {
  const { origin, paths, headers, visitors, connections, perSecond, seconds, warmupSeconds } = task;
  const pool = new Pool(origin, { connections, pipelining: 1 });
  const latencies = [];
  const statuses = {};
  const pending = [];
  const warmup = perSecond * warmupSeconds;
  const startedAt = performance.now();
  const one = async (n, dueAt) => {
    const response = await pool.request({
      method: 'GET',
      path: paths[n % paths.length],
      headers: { ...headers, 'x-forwarded-for': addressOf(n % visitors) },
    });
    await response.body.dump();
    statuses[response.statusCode] = (statuses[response.statusCode] ?? 0) + 1;
    if (n >= warmup) latencies.push(performance.now() - dueAt);
  };
  for (let n = 0; n < warmup + perSecond * seconds; n += 1) {
    const dueAt = startedAt + (n * 1000) / perSecond;
    const earlyMs = dueAt - performance.now();
    if (earlyMs > 0) await delay(earlyMs);
    pending.push(one(n, dueAt));
  }
  await Promise.all(pending);
  await pool.close();
  return { ...quantilesOf(latencies), statuses };
}

/** 10.0.0.0/8 has more than 16 million. */
function addressOf(visitor) {
  return [10, (visitor >> 16) & 255, (visitor >> 8) & 255, visitor & 255].join('.');
}
