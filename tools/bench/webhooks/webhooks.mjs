/**
 * `npm run bench webhooks`: how fast, how soon and how undisturbed webhooks are delivered, by a
 * dispatcher that is a process of its own, over real TLS, from payments in the event store.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { say } from '../../workspace.mjs';
import { machineMs } from '../machine-clock.mjs';
import { startApp } from '../processes.mjs';
import { quantile } from '../statistics.mjs';
import { openClients, subscribe } from './clients.mjs';
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
};
const short = {
  backlog: 100,
  sustainedSeconds: 1,
  outstanding: 50,
  paceSeconds: 2,
  stuck: 100,
  isolationSeconds: 2,
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
  const clients = openClients(system.env);
  undo.push(() => clients.close());
  const gateway = await startApp('api-gateway', system.env);
  const [slowUrl] = system.receiver.urls.slice(organizations * endpointsEach);
  const subscribed = [];
  for (let n = 0; n < organizations; n += 1) {
    const urls = system.receiver.urls.slice(n * endpointsEach, (n + 1) * endpointsEach);
    subscribed.push(
      await clients.create(
        gateway.url,
        urls.map((url) => `${url}/fast`),
      ),
    );
  }
  const [firstUrl, secondUrl] = system.receiver.urls;
  const alone = await clients.create(gateway.url, [`${firstUrl}/timed`]);
  const besideSlow = await clients.create(gateway.url, [`${slowUrl}/slow`]);
  const bench = { ...system, clients, subscribed, scale };

  say(`webhooks: draining ${scale.backlog} events to ${organizations * endpointsEach} endpoints`);
  await publishBacklog(bench);
  const dispatcher = await startDispatcher(system);
  undo.push(() => dispatcher.stop());
  const drained = await drain({ ...bench, dispatcher });
  say('webhooks: sustained');
  const sustained = await sustain({ ...bench, dispatcher });
  say(`webhooks: latency at ${perSecond}/s`);
  const latency = await latencyOf({ ...bench, client: alone, seconds: scale.paceSeconds });
  say(
    `webhooks: ${scale.stuck} events stuck on an endpoint that hangs, another one at ${perSecond}/s`,
  );
  await jam({ ...bench, client: besideSlow });
  await subscribe(besideSlow, `${secondUrl}/timed`);
  const isolation = await latencyOf({
    ...bench,
    client: besideSlow,
    seconds: scale.isolationSeconds,
  });
  await gateway.stop();
  return {
    broker: system.kafka === null ? 'embedded' : 'kafka',
    envelopeBytes: system.receiver.counts.bytes / system.receiver.counts.received,
    duplicates: system.receiver.counts.again,
    drained,
    sustained,
    latency,
    isolation: { ...isolation, slowAttempts: system.receiver.counts.slow },
  };
}

/** Appends the backlog and, on Kafka, waits until the relay has published it. */
async function publishBacklog({ kafka, clients, subscribed, scale }) {
  await clients.payMany(subscribed, scale.backlog);
  if (kafka !== null) await clients.relayed();
}

async function drain({ scale, receiver, dispatcher }) {
  const expected = scale.backlog * endpointsEach;
  return rateOf({ receiver, dispatcher, expected, alreadyReceived: 0 });
}

async function rateOf({ receiver, dispatcher, expected, alreadyReceived }) {
  const { counts } = receiver;
  const warm = alreadyReceived + Math.ceil(expected * warmupShare);
  const limit = { limitMs: drainLimitMs, what: `${expected} deliveries` };
  await receiver.until(() => counts.received >= warm, limit);
  const from = { count: counts.received, atMs: counts.lastAtMs, cpu: dispatcher.cpu() };
  await receiver.until(() => counts.received >= alreadyReceived + expected, limit);
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

/** Closed loop: so many events are on their way at any time. */
async function sustain({ scale, receiver, dispatcher, clients, subscribed }) {
  const { counts } = receiver;
  const before = counts.received;
  const endsAt = machineMs() + scale.sustainedSeconds * 1000;
  let appended = 0;
  const from = { atMs: machineMs(), cpu: dispatcher.cpu() };
  while (machineMs() < endsAt) {
    const room = () => scale.outstanding - (appended - (counts.received - before) / endpointsEach);
    await receiver.until(() => room() >= 1, { limitMs: arrivalLimitMs, what: 'room for events' });
    const count = Math.floor(room());
    appended += count;
    await clients.payMany(subscribed, count);
  }
  const expected = appended * endpointsEach;
  await receiver.until(() => counts.received >= before + expected, {
    limitMs: arrivalLimitMs,
    what: 'the last of what was appended',
  });
  await recorded(dispatcher);
  const cpu = dispatcher.cpu();
  return {
    deliveries: expected,
    perSecond: (expected / (counts.lastAtMs - from.atMs)) * 1000,
    dispatcherCpuMs: (cpu.dispatcherMs - from.cpu.dispatcherMs) / expected,
    postgresCpuMs: (cpu.postgresMs - from.cpu.postgresMs) / expected,
  };
}

/** From the begin of the append to the receipt. */
async function latencyOf({ receiver, clients, client, seconds }) {
  const begun = await clients.payAtPace(client, { perSecond, seconds });
  const ids = [...begun.keys()];
  await receiver.until(() => ids.every((id) => receiver.timed.has(id)), {
    limitMs: arrivalLimitMs,
    what: 'every event at its pace',
  });
  // The first second warms up connections and code.
  const latencies = ids
    .slice(perSecond)
    .map((id) => receiver.timed.get(id) - begun.get(id))
    .sort((a, b) => a - b);
  return { perSecond, p50Ms: quantile(latencies, 0.5), p99Ms: quantile(latencies, 0.99) };
}

/** Until the endpoint has taken all the attempts that it is given, and the rest waits. */
async function jam({ receiver, clients, client, scale }) {
  await clients.payMany([client], scale.stuck);
  await receiver.until(() => receiver.counts.slow > 0, {
    limitMs: arrivalLimitMs,
    what: 'attempts at the endpoint that hangs',
  });
}
