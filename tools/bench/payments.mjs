/**
 * Payments as clients create them, everything in one process, with a process for each app, and with api-gateway alone, beside
 * the limits of the machine. What is compared is measured in rounds: the machine changes its speed from one minute to the next,
 * and a ratio within a round does not.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createPool } from '@pis/postgres';
import { say } from '../workspace.mjs';
import { answered } from './answers.mjs';
import { createMany, firstWebhookLatency, fullLifecycles } from './lifecycle.mjs';
import { rssMb } from './metrics.mjs';
import { followOutcomes } from './outcomes.mjs';
import { pgbenchInserts } from './pgbench.mjs';
import { cpuMsOfTree } from './process-cpu.mjs';
import { measure, startApp, startHelper } from './processes.mjs';
import { createPayable, listLatency, paymentLoad } from './requests.mjs';
import { spread } from './statistics.mjs';
import { distributedSettings, startDistributed } from './systems.mjs';
import { newApiKey, sendingSettings, withPostgres } from './with-postgres.mjs';

const connections = 64;
const silent = { warn: () => {}, debug: () => {} };
const full = {
  rounds: 3,
  seconds: 4,
  warmupSeconds: 1,
  listed: 100_000,
  paceSeconds: 20,
  lifecycles: 3_000,
};
const quick = {
  rounds: 2,
  seconds: 2,
  warmupSeconds: 0.5,
  listed: 5_000,
  paceSeconds: 8,
  lifecycles: 500,
};
const short = {
  rounds: 1,
  seconds: 2,
  warmupSeconds: 1,
  listed: 2_000,
  paceSeconds: 3,
  lifecycles: 200,
};
const idleMs = 5_000;
/** The executor holds a payment for that long, so none is executed. */
const holdMs = 3_600_000;
/** After a load, for the readers of the log to catch up. */
const settleMs = 1_000;

export async function payments({ isShort, isQuick }) {
  const scale = isShort ? short : isQuick ? quick : full;
  const measured = await withPostgres((place) => measureAll(scale, place));
  const held = await withPostgres((place) => measureHeld(scale, place));
  // Its own PostgreSQL: the first one holds payments that nobody has executed.
  const distributed = isQuick
    ? null
    : await withPostgres((place) => measureDistributed(scale, place), {
        settings: distributedSettings,
      });
  return summaryOf({ ...measured, held, distributed });
}

async function measureAll(scale, place) {
  const { undo } = place;
  const receiver = await startHelper('receiver.mjs');
  undo.push(() => receiver.stop());
  const apiKey = newApiKey();
  const env = sendingSettings(place, { apiKey, receiver });
  const inAll = await startApp(null, env);
  undo.push(() => inAll.stop());
  await delay(idleMs);
  const idleRssMb = await rssMb(inAll.url);
  const target = { ...(await createPayable({ url: inAll.url, apiKey })), ...place };
  say('create to first webhook at 50 payments/s, everything in one process');
  const pace = { perSecond: 50, seconds: scale.paceSeconds };
  const firstWebhook = await firstWebhookLatency(target, receiver, pace);
  say('everything in one process: lifecycles, and payments accepted while it executes them');
  const allInOne = await systemRounds(scale, target, receiver);
  await inAll.stop();

  const gateway = await startApp('api-gateway', env);
  undo.push(() => gateway.stop());
  const own = { ...target, url: gateway.url };
  say('payments accepted, api-gateway as a process of its own, beside the machine alone');
  const alone = await besideTheMachine(scale, own);
  say(`list latency at ${scale.listed} payments`);
  const list = await listAt(scale, own, env, undo);
  return { idleRssMb, firstWebhook, allInOne, alone, list };
}

async function measureDistributed(scale, place) {
  const receiver = await startHelper('receiver.mjs');
  place.undo.push(() => receiver.stop());
  const target = await createPayable(await startDistributed(place, receiver));
  say('a process for each app: lifecycles, and payments accepted while they are executed');
  return await systemRounds(scale, { ...target, ...place }, receiver);
}

/**
 * The log follows each load until all is executed, so that nothing runs into the next one. A first load, which is not
 * counted, warms up: V8 compiles for thousands of payments, on other threads.
 */
async function systemRounds(scale, target, receiver) {
  const outcomes = await followOutcomes(target.databaseUrl);
  target.undo.push(() => outcomes.close());
  const load = { payments: scale.lifecycles, connections };
  await createMany(target, load);
  const rounds = [];
  for (let round = 0; round < scale.rounds; round += 1) {
    await outcomes.allCompleted();
    const startedAt = performance.now();
    await createMany(target, load);
    await outcomes.allCompleted();
    const withoutEndpoints = (scale.lifecycles * 1000) / (performance.now() - startedAt);
    rounds.push({
      lifecycles: withoutEndpoints,
      lifecyclesWithWebhooks: (await fullLifecycles(target, receiver, load)).perSecond,
      accepted: await answered(201, paymentLoad(target, { ...scale, connections })),
    });
  }
  await outcomes.allCompleted();
  return rounds;
}

/** The executor holds the payments. With the CPU time of each, of the service and of its PostgreSQL, warm-up included. */
async function measureHeld(scale, place) {
  const { databaseUrl, postgresPid, undo } = place;
  const receiver = await startHelper('receiver.mjs');
  undo.push(() => receiver.stop());
  const apiKey = newApiKey();
  const env = sendingSettings(place, { apiKey, receiver });
  const app = await startApp(null, { ...env, PIS_SANDBOX_RAIL_DELAY_MS: String(holdMs) });
  undo.push(() => app.stop());
  const target = await createPayable({ url: app.url, apiKey });
  const pool = createPool(databaseUrl, 'bench', silent);
  undo.push(() => pool.end());
  const read = async () => {
    const { rows } = await pool.query('SELECT position::float8 AS events FROM event_log_head');
    return { ...rows[0], node: cpuMsOfTree(app.pid), postgres: cpuMsOfTree(postgresPid) };
  };
  const load = () => answered(201, paymentLoad(target, { ...scale, connections }));
  say('payments accepted, everything in one process, nothing executed');
  await load();
  const rounds = [];
  for (let round = 0; round < scale.rounds; round += 1) {
    await delay(settleMs);
    const before = await read();
    const accepted = await load();
    await delay(settleMs);
    const after = await read();
    const perPayment = (pick) => (pick(after) - pick(before)) / (after.events - before.events);
    rounds.push({
      accepted,
      nodeMs: perPayment(({ node }) => node),
      postgresMs: perPayment(({ postgres }) => postgres),
    });
  }
  return rounds;
}

/** Single-row inserts, empty POST and payments, one right after the other. */
async function besideTheMachine(scale, target) {
  const load = paymentLoad(target, { ...scale, connections });
  const inserts = {
    ...{ databaseUrl: target.databaseUrl, scratch: target.scratch, clients: connections },
    ...{ seconds: scale.seconds, warmupSeconds: scale.warmupSeconds, payload: load.body },
  };
  const empty = await startHelper('empty-server.mjs');
  const rounds = [];
  for (let round = 0; round < scale.rounds; round += 1)
    rounds.push({
      pgbench: await pgbenchInserts(inserts),
      inserts: await measure('insert-load.mjs', inserts),
      emptyPost: await answered(200, { ...load, origin: empty.hello.url, path: '/' }),
      accepted: await answered(201, load),
    });
  await empty.stop();
  return rounds;
}

async function listAt(scale, target, env, undo) {
  const projector = await startApp('payments-projector', env);
  undo.push(() => projector.stop());
  const result = await listLatency(target, { atLeast: scale.listed, connections });
  await projector.stop();
  return result;
}

/** Medians over the rounds with the least and the greatest. Ratios are of one round; all-in-one has rounds of its own. */
function summaryOf({ idleRssMb, firstWebhook, allInOne, held, alone, list, distributed }) {
  const inAll = (pick) => spread(allInOne.map(pick));
  const per = (pick) => spread(alone.map(pick));
  const limits = {
    pgbenchInserts: alone[0].pgbench && per(({ pgbench }) => pgbench.perSecond),
    inserts: per(({ inserts }) => inserts.perSecond),
    emptyPost: per(({ emptyPost }) => emptyPost.perSecond),
  };
  return {
    ...{ idleRssMb, firstWebhook, list, limits },
    allInOne: systemOf(allInOne),
    distributed: distributed && systemOf(distributed),
    gateway: { accepted: acceptedOf(alone) },
    held: {
      accepted: acceptedOf(held),
      nodeMs: spread(held.map(({ nodeMs }) => nodeMs)),
      postgresMs: spread(held.map(({ postgresMs }) => postgresMs)),
    },
    ratios: {
      gatewayToInserts: per(({ accepted, inserts }) => accepted.perSecond / inserts.perSecond),
      gatewayToPgbench:
        alone[0].pgbench && per(({ accepted, pgbench }) => accepted.perSecond / pgbench.perSecond),
      gatewayToEmptyPost: per(
        ({ accepted, emptyPost }) => accepted.perSecond / emptyPost.perSecond,
      ),
      allInOneToInserts: inAll(({ accepted }) => accepted.perSecond / limits.inserts.median),
      allInOneToEmptyPost: inAll(({ accepted }) => accepted.perSecond / limits.emptyPost.median),
    },
  };
}

function systemOf(rounds) {
  return {
    accepted: acceptedOf(rounds),
    lifecycles: spread(rounds.map(({ lifecycles }) => lifecycles)),
    lifecyclesWithWebhooks: spread(rounds.map((round) => round.lifecyclesWithWebhooks)),
  };
}

function acceptedOf(rounds) {
  return {
    perSecond: spread(rounds.map(({ accepted }) => accepted.perSecond)),
    p50Ms: spread(rounds.map(({ accepted }) => accepted.p50Ms)),
    p99Ms: spread(rounds.map(({ accepted }) => accepted.p99Ms)),
  };
}
