/**
 * One client that asks two servers the same in turn, so that what disturbs the machine disturbs both
 * alike. Controlled over IPC. It answers with latencies in milliseconds, side by side.
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

/**
 * Each of `pairs` has a name and, by side, a path; `sides` are the two servers, with their headers. Rounds
 * of all pairs, each pair's requests in turn; of a pair the quietest round counts, that is the one with the
 * least p99 of both: others' work on the machine only ever adds, and the servers' own is in every round.
 * So a pair whose second side is still over `ratioMax` times the first is asked again, up to `roundsMax`.
 */
async function compare({ sides, pairs, rounds, roundsMax, ratioMax, requests, warmup }) {
  const pools = Object.fromEntries(
    Object.entries(sides).map(([side, { origin }]) => [side, new Pool(origin, { connections: 1 })]),
  );
  const ask = (side, paths) => timed(pools[side], paths[side], sides[side].headers);
  const names = Object.keys(sides);
  for (const { paths } of pairs)
    for (let n = 0; n < warmup; n += 1) for (const side of names) await ask(side, paths);
  const best = new Map();
  const isOver = ({ name }) => {
    const [first, second] = names.map((side) => best.get(name)[side].p99Ms);
    return second > ratioMax * first;
  };
  for (let round = 0; round < roundsMax; round += 1)
    for (const { name, paths } of round < rounds ? pairs : pairs.filter(isOver)) {
      const latencies = Object.fromEntries(names.map((side) => [side, []]));
      for (let n = 0; n < requests; n += 1)
        for (const side of names) latencies[side].push(await ask(side, paths));
      const sample = Object.fromEntries(names.map((side) => [side, summaryOf(latencies[side])]));
      if (!best.has(name) || worstOf(sample) < worstOf(best.get(name))) best.set(name, sample);
    }
  await Promise.all(Object.values(pools).map((pool) => pool.close()));
  return [...best].map(([name, sample]) => ({ name, ...sample }));
}

function worstOf(sample) {
  return Math.max(...Object.values(sample).map(({ p99Ms }) => p99Ms));
}

async function timed(pool, path, headers) {
  const startedAt = performance.now();
  const response = await pool.request({ method: 'GET', path, headers });
  const text = await response.body.text();
  const tookMs = performance.now() - startedAt;
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode} ${text}`);
  return tookMs;
}

function summaryOf(latencies) {
  const sorted = latencies.toSorted((a, b) => a - b);
  return { p50Ms: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99) };
}
