/**
 * `npm run bench webhooks`: how fast, how soon and how undisturbed webhooks are delivered, by a
 * dispatcher that is a process of its own, over real TLS, from payments in the event store.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { say } from '../../workspace.mjs';
import { flushMs } from '../disk.mjs';
import { machineMs } from '../machine-clock.mjs';
import { startApp } from '../processes.mjs';
import { quantilesOf } from '../statistics.mjs';
import { openClients, subscribe } from './clients.mjs';
import { fillHistory } from './history.mjs';
import { startDispatcher, startSystem } from './system.mjs';

/** Five endpoints per event type are the most that the specification lets an organization have. */
const organizations = 4;
const endpointsEach = 5;
const full = {
  backlog: 6_000,
  sustainedSeconds: 8,
  outstanding: 200,
  paceSeconds: 10,
  stuck: 1_500,
  isolationSeconds: 10,
  finished: 5_000_000,
};
const short = {
  backlog: 100,
  sustainedSeconds: 1,
  outstanding: 50,
  paceSeconds: 2,
  stuck: 100,
  isolationSeconds: 2,
  finished: 50_000,
};
const perSecond = 50;
/** Rates are taken over what comes after the first fifth: a fresh process compiles its code first. */
const warmupShare = 0.2;
const drainLimitMs = 120_000;
const arrivalLimitMs = 30_000;

export async function webhooks({ isShort }) {
  const scale = isShort ? short : full;
  const scratch = mkdtempSync(join(tmpdir(), 'pis-bench-webhooks-'));
  const undo = [() => rmSync(scratch, { recursive: true, force: true })];
  try {
    return await measureAll(scale, scratch, undo);
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

async function measureAll(scale, scratch, undo) {
  const system = await startSystem(scratch, undo);
  const bench = { ...system, scale, scratch, ...(await setUpClients(system, undo)) };
  const { counts } = system.receiver;

  say(`webhooks: draining ${scale.backlog} events to ${organizations * endpointsEach} endpoints`);
  await publishBacklog(bench);
  const dispatcher = await startDispatcher(system);
  undo.push(() => dispatcher.stop());
  const drained = await drain({ ...bench, dispatcher });
  say('webhooks: sustained');
  const sustained = await sustain({ ...bench, dispatcher });
  say(`webhooks: latency at ${perSecond}/s`);
  const latency = await latencyOf(bench, bench.alone, scale.paceSeconds);
  say(`webhooks: sustained, beside ${scale.finished} finished deliveries`);
  await fillHistory(system.env.DATABASE_URL, scale.finished);
  const aged = await sustain({ ...bench, dispatcher });
  say(`webhooks: latency at ${perSecond}/s beside an endpoint that hangs, ${scale.stuck} behind`);
  await jam(bench);
  await bench.subscribeBesideSlow();
  const isolation = await latencyOf(bench, bench.besideSlow, scale.isolationSeconds);
  return {
    broker: system.kafka === null ? 'embedded' : 'kafka',
    envelopeBytes: counts.bytes / counts.received,
    duplicates: counts.again,
    drained,
    sustained,
    aged: {
      finished: scale.finished,
      ...aged,
      ratio: aged.perSecond / sustained.perSecond,
      cpuRatio: cpuMsOf(aged) / cpuMsOf(sustained),
    },
    latency,
    isolation: { ...isolation, slowAttempts: counts.slow },
  };
}

function cpuMsOf({ dispatcherCpuMs, postgresCpuMs }) {
  return dispatcherCpuMs + postgresCpuMs;
}

async function setUpClients({ env, receiver }, undo) {
  const clients = openClients(env);
  undo.push(() => clients.close());
  const gateway = await startApp('api-gateway', env);
  undo.push(() => gateway.stop());
  const urls = receiver.urls.map((url) => `${url}/fast`);
  const subscribed = [];
  for (let n = 0; n < organizations; n += 1)
    subscribed.push(
      await clients.create(gateway.url, urls.slice(n * endpointsEach, (n + 1) * endpointsEach)),
    );
  const [first, second] = receiver.urls;
  const slow = receiver.urls[organizations * endpointsEach];
  const besideSlow = await clients.create(gateway.url, [`${slow}/slow`]);
  return {
    clients,
    subscribed,
    alone: await clients.create(gateway.url, [`${first}/timed`]),
    besideSlow,
    subscribeBesideSlow: () => subscribe(besideSlow, `${second}/timed`),
  };
}

/** Appends the backlog and, on Kafka, waits until the relay has published it. */
async function publishBacklog({ kafka, clients, subscribed, scale }) {
  await clients.payMany(subscribed, scale.backlog);
  if (kafka !== null) await clients.relayed();
}

async function drain({ scale, receiver, dispatcher }) {
  const { counts } = receiver;
  const expected = scale.backlog * endpointsEach;
  const limit = { limitMs: drainLimitMs, what: `${expected} deliveries` };
  await receiver.until(() => counts.received >= expected * warmupShare, limit);
  const from = { count: counts.received, atMs: counts.lastAtMs, cpu: dispatcher.cpu() };
  await receiver.until(() => counts.received >= expected, limit);
  return rateSince(from, { receiver, dispatcher });
}

async function rateSince(from, { receiver: { counts }, dispatcher }) {
  await recorded(dispatcher);
  const cpu = dispatcher.cpu();
  const deliveries = counts.received - from.count;
  return {
    deliveries,
    perSecond: (deliveries / (counts.lastAtMs - from.atMs)) * 1000,
    dispatcherCpuMs: (cpu.dispatcherMs - from.cpu.dispatcherMs) / deliveries,
    postgresCpuMs: (cpu.postgresMs - from.cpu.postgresMs) / deliveries,
  };
}

/** A delivery is done when it is recorded: that belongs to its cost. */
async function recorded(dispatcher) {
  const deadline = machineMs() + arrivalLimitMs;
  while ((await dispatcher.metric('pis_webhook_in_flight')) > 0) {
    if (machineMs() > deadline) throw new Error('attempts that nobody records');
    await delay(10);
  }
}

/** Closed loop: so many events are on their way at any time. Connections may have closed before: the warm-up opens them. */
async function sustain({ scale, scratch, receiver, dispatcher, clients, subscribed }) {
  const { counts } = receiver;
  const now = () => ({ count: counts.received, atMs: machineMs(), cpu: dispatcher.cpu() });
  const begin = now();
  const arrived = () => (counts.received - begin.count) / endpointsEach;
  let appended = 0;
  const room = () => Math.floor(scale.outstanding - appended + arrived());
  const keepBusy = async (seconds) => {
    const endsAt = machineMs() + seconds * 1000;
    while (machineMs() < endsAt) {
      await receiver.until(() => room() > 0, { limitMs: arrivalLimitMs, what: 'room for events' });
      const count = room();
      appended += count;
      await clients.payMany(subscribed, count);
    }
  };
  const flush = await flushMs(scratch);
  await keepBusy(scale.sustainedSeconds * warmupShare);
  const from = now();
  await keepBusy(scale.sustainedSeconds);
  await receiver.until(() => arrived() >= appended, {
    limitMs: arrivalLimitMs,
    what: 'the last of what was appended',
  });
  return { ...(await rateSince(from, { receiver, dispatcher })), flushMs: flush };
}

/** From the begin of the append to the receipt, and from its end. */
async function latencyOf({ receiver, clients }, client, seconds) {
  const paid = await clients.payAtPace(client, { perSecond, seconds });
  const ids = [...paid.keys()];
  await receiver.until(() => ids.every((id) => receiver.timed.has(id)), {
    limitMs: arrivalLimitMs,
    what: 'every event at its pace',
  });
  // The first second warms up connections and code.
  const measured = ids.slice(perSecond);
  const sinceBegin = measured.map((id) => receiver.timed.get(id) - paid.get(id).atMs);
  const sinceAppended = measured.map((id) => receiver.timed.get(id) - paid.get(id).appendedAtMs);
  return { perSecond, ...quantilesOf(sinceBegin), appended: quantilesOf(sinceAppended) };
}

/** Until the endpoint has taken all the attempts that it is given, and the rest waits. */
async function jam({ receiver, clients, besideSlow, scale }) {
  await clients.payMany([besideSlow], scale.stuck);
  await receiver.until(() => receiver.counts.slow > 0, {
    limitMs: arrivalLimitMs,
    what: 'attempts at the endpoint that hangs',
  });
}
