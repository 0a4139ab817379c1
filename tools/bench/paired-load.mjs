/**
 * One client that asks two servers the same in turn, so that what disturbs the machine disturbs both
 * alike. Controlled over IPC. It answers with latencies in milliseconds, side by side.
 */
import { Pool } from 'undici';
import { median, quantilesOf, spread } from './statistics.mjs';

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
 * Each of `pairs` has a name and, by side, a path; `sides` are the two servers, with their headers. Rounds of all pairs,
 * each pair's requests in turn. @returns for each pair its medians over the rounds, and the ratio of the second side's
 * p99 to the first's, which is taken within each round
 */
async function compare({ sides, pairs, rounds, requests, warmup }) {
  const pools = Object.fromEntries(
    Object.entries(sides).map(([side, { origin }]) => [side, new Pool(origin, { connections: 1 })]),
  );
  const ask = (side, paths) => timed(pools[side], paths[side], sides[side].headers);
  const names = Object.keys(sides);
  for (const { paths } of pairs)
    for (let n = 0; n < warmup; n += 1) for (const side of names) await ask(side, paths);
  const measured = pairs.map(() => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [index, { paths }] of pairs.entries()) {
      const latencies = Object.fromEntries(names.map((side) => [side, []]));
      for (let n = 0; n < requests; n += 1)
        for (const side of names) latencies[side].push(await ask(side, paths));
      measured[index].push(names.map((side) => quantilesOf(latencies[side])));
    }
  await Promise.all(Object.values(pools).map((pool) => pool.close()));
  return pairs.map(({ name }, index) => ({ name, ...summaryOf(names, measured[index]) }));
}

function summaryOf(names, rounds) {
  const sides = names.map((side, at) => [
    side,
    {
      p50Ms: median(rounds.map((round) => round[at].p50Ms)),
      p99Ms: median(rounds.map((round) => round[at].p99Ms)),
    },
  ]);
  const p99Ratio = spread(rounds.map(([first, second]) => second.p99Ms / first.p99Ms));
  return { ...Object.fromEntries(sides), p99Ratio };
}

async function timed(pool, path, headers) {
  const startedAt = performance.now();
  const response = await pool.request({ method: 'GET', path, headers });
  const text = await response.body.text();
  const tookMs = performance.now() - startedAt;
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode} ${text}`);
  return tookMs;
}
