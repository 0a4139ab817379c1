/**
 * One client that asks two servers the same in turn, so that what disturbs the machine disturbs both
 * alike. Told what to do over IPC; answers with latencies in milliseconds, side by side.
 */
import { Pool } from 'undici';
import { quantile } from './statistics.mjs';

process.once('message', (task) => {
  compare(task).then(
    (result) => process.send(result, () => process.disconnect()),
    (error) => {
      process.stderr.write(`${error.stack}\n`);
      process.exit(1);
    },
  );
});

/** Each of `pairs` has a name and, by side, a path; `sides` are the servers, with their headers. */
async function compare({ sides, pairs, requests, warmup }) {
  const pools = Object.fromEntries(
    Object.entries(sides).map(([side, { origin }]) => [side, new Pool(origin, { connections: 1 })]),
  );
  const results = [];
  for (const { name, paths } of pairs) {
    const latencies = Object.fromEntries(Object.keys(sides).map((side) => [side, []]));
    for (let n = -warmup; n < requests; n += 1)
      for (const side of Object.keys(sides)) {
        const tookMs = await timed(pools[side], paths[side], sides[side].headers);
        if (n >= 0) latencies[side].push(tookMs);
      }
    results.push({ name, ...summaries(latencies) });
  }
  await Promise.all(Object.values(pools).map((pool) => pool.close()));
  return results;
}

async function timed(pool, path, headers) {
  const startedAt = performance.now();
  const response = await pool.request({ method: 'GET', path, headers });
  const text = await response.body.text();
  const tookMs = performance.now() - startedAt;
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode} ${text}`);
  return tookMs;
}

function summaries(latencies) {
  return Object.fromEntries(
    Object.entries(latencies).map(([side, values]) => {
      values.sort((a, b) => a - b);
      return [side, { p50Ms: quantile(values, 0.5), p99Ms: quantile(values, 0.99) }];
    }),
  );
}
