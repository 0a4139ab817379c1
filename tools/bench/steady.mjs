/**
 * A steady load for minutes on the whole system in one process: how far the readers of the log are behind, the memory of
 * the process, and the latency of webhooks, each second. A system that keeps up has flat curves.
 */
import { access, constants, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createPool } from '@pis/postgres';
import { readCheckpoints } from '@pis/read-models';
import { say } from '../workspace.mjs';
import { svgOf, terminalChart } from './chart.mjs';
import { withEndpoint } from './lifecycle.mjs';
import { deliveryOf, firstWebhooksBySecond, startPace } from './pace.mjs';
import { startHelper } from './processes.mjs';
import { createPayable } from './requests.mjs';
import { median, quantilesOf } from './statistics.mjs';
import { startAllInOne } from './systems.mjs';
import { withPostgres } from './with-postgres.mjs';

const full = { minutes: 10, rate: 200, warmupSeconds: 20 };
const short = { minutes: 0.1, rate: 20, warmupSeconds: 1 };
const sampleEveryMs = 1_000;
const silent = { warn: () => {}, debug: () => {} };

/** @param minutes of load; @param rate payments per second; @param svg the file to draw to */
export async function steady({ isShort, minutes, rate, svg }) {
  // Better now than in ten minutes.
  if (svg !== undefined) await access(dirname(svg), constants.W_OK);
  const scale = isShort ? short : full;
  const load = {
    perSecond: rate ?? scale.rate,
    seconds: Math.ceil((minutes ?? scale.minutes) * 60),
  };
  const result = await withPostgres((place) => measureLoad({ ...scale, ...load }, place));
  if (svg !== undefined) await writeFile(svg, svgOf(drawingOf(result)));
  return result;
}

async function measureLoad({ perSecond, seconds, warmupSeconds }, place) {
  const { undo } = place;
  const receiver = await startHelper('receiver.mjs');
  undo.push(() => receiver.stop());
  const app = await startAllInOne(place, receiver);
  const pool = createPool(place.databaseUrl, 'bench', silent);
  undo.push(() => pool.end());
  const target = await createPayable(app);
  return await withEndpoint(target, receiver, async (arrivals) => {
    const pace = await startPace(target, arrivals);
    undo.push(() => pace.stop());
    say('warm-up');
    await pace.pay({ perSecond, seconds: warmupSeconds });
    arrivals.clear();
    say(`${perSecond} payments per second for ${seconds} s`);
    const sampler = startSampler(pool, app);
    const payments = await pace.pay({ perSecond, seconds }).finally(() => sampler.stop());
    return resultOf({ perSecond, seconds }, payments, arrivals, sampler.samples);
  });
}

/** From its start on, each second until `stop()`. */
function startSampler(pool, { rssMb }) {
  const samples = [];
  let failure = null;
  const sample = async () => {
    const lag = await lagOf(pool);
    samples.push({ lag, rssMb: rssMb() });
  };
  const timer = setInterval(() => {
    sample().catch((error) => (failure ??= error));
  }, sampleEveryMs);
  return {
    samples,
    stop() {
      clearInterval(timer);
      if (failure !== null) throw failure;
    },
  };
}

/** Events between the end of the log and the reader that is furthest behind. */
async function lagOf(pool) {
  const { rows } = await pool.query('SELECT position::float8 AS head FROM event_log_head');
  const positions = (await readCheckpoints(pool)).map(({ position }) => Number(position));
  return Math.max(0, rows[0].head - Math.min(...positions));
}

function resultOf({ perSecond, seconds }, payments, arrivals, samples) {
  const bySecond = firstWebhooksBySecond(payments, arrivals, seconds);
  return {
    ...{ perSecond, seconds, payments: payments.length },
    ...deliveryOf(payments, arrivals, seconds),
    p99Ms: bySecond.map((latencies) => quantilesOf(latencies).p99Ms),
    lag: samples.map(({ lag }) => lag),
    rssMb: samples.map(({ rssMb }) => rssMb),
  };
}

function drawingOf({ perSecond, seconds, lag, rssMb, p99Ms }) {
  return {
    title: `${perSecond} payments per second for ${seconds} s, all in one`,
    charts: [
      { title: 'request → first webhook, p99 of each second, ms', values: p99Ms },
      { title: 'events that the slowest reader of the log is behind', values: lag },
      { title: 'memory of Node.js, MB', values: rssMb },
    ],
  };
}

export function reportSteady(result) {
  const { title, charts } = drawingOf(result);
  console.log(`\nSTEADY LOAD: ${title}`);
  for (const chart of charts) console.log(`\n${terminalChart(chart).join('\n')}`);
  const n = (value) => Math.round(value).toLocaleString('en');
  const { payments, deliveredPerSecond, firstWebhook, lastWebhook, lag, rssMb } = result;
  const latency = ({ p50Ms, p99Ms }) => `p50 ${p50Ms.toFixed(1)} ms  p99 ${p99Ms.toFixed(1)} ms`;
  const rows = [
    ['payments', n(payments)],
    ['payments delivered per second, to the last webhook', n(deliveredPerSecond)],
    ['request → first webhook', latency(firstWebhook)],
    ['request → third webhook', latency(lastWebhook)],
    ['events behind: median, most, at the end', [median(lag), Math.max(...lag), lag.at(-1)].map(n)],
    ['memory in MB: first, most, at the end', [rssMb[0], Math.max(...rssMb), rssMb.at(-1)].map(n)],
  ];
  console.log('');
  for (const [name, value] of rows) console.log(`${name.padEnd(52)}  ${[value].flat().join('  ')}`);
}
