/** The runs of the bench, in order, and the table. Everything it starts it also ends. */
import { availableParallelism, cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { say } from '../workspace.mjs';
import { audit, reportAudit } from './audit.mjs';
import { cost } from './cost.mjs';
import { reportCost } from './cost-report.mjs';
import { eventStores } from './event-store/event-store.mjs';
import { reportEventStores } from './event-store/report.mjs';
import { exports, reportExports } from './exports.mjs';
import { firstWebhookLatency, fullLifecycles } from './lifecycle.mjs';
import { lists, reportLists } from './lists.mjs';
import { rssMb } from './metrics.mjs';
import { measure, startApp, startHelper } from './processes.mjs';
import { pages } from './pages/pages.mjs';
import { reportPages } from './pages/report.mjs';
import { reportRails } from './rails/report.mjs';
import { rails } from './rails/rails.mjs';
import { rateLimits, reportRateLimits } from './rate-limits.mjs';
import { report, reportMachine } from './report.mjs';
import { createPayable, listLatency, paymentLoad } from './requests.mjs';
import { reportStatements, statements } from './statements.mjs';
import { median } from './statistics.mjs';
import { reportStorage, storage } from './storage.mjs';
import { reportTracing, tracing } from './tracing.mjs';
import { reportWebhooks } from './webhooks/report.mjs';
import { webhooks } from './webhooks/webhooks.mjs';
import { newApiKey, sendingSettings, withPostgres } from './with-postgres.mjs';

const connections = 64;
const full = {
  rounds: 5,
  seconds: 4,
  warmupSeconds: 1,
  listed: 100_000,
  paceSeconds: 20,
  lifecycles: 5_000,
};
const short = {
  rounds: 1,
  seconds: 2,
  warmupSeconds: 1,
  listed: 2_000,
  paceSeconds: 3,
  lifecycles: 200,
};

/**
 * The parts that can be run alone, by their name as an argument, with or without `--`. Without a name all
 * run but those that run only when asked for: on a real server they leave their events behind.
 */
const parts = {
  payments: {
    run: ({ isShort }) => benchPayments(isShort ? short : full),
    report,
  },
  cost: { run: cost, report: reportCost },
  webhooks: { run: webhooks, report: reportWebhooks },
  lists: { run: lists, report: reportLists },
  tracing: { run: tracing, report: reportTracing },
  'rate-limits': { run: rateLimits, report: reportRateLimits },
  pages: { run: pages, report: reportPages },
  rails: { run: rails, report: reportRails },
  statements: { run: statements, report: reportStatements },
  exports: { run: exports, report: reportExports },
  audit: { run: audit, report: reportAudit },
  storage: { run: storage, report: reportStorage },
  'event-store': { run: eventStores, report: reportEventStores, onlyWhenAsked: true },
};

export async function bench(args) {
  const { named, isJson, ...options } = optionsOf(args);
  const byDefault = Object.keys(parts).filter((name) => !parts[name].onlyWhenAsked);
  const results = {};
  for (const name of named.length > 0 ? named : byDefault)
    results[name] = await parts[name].run(options);
  if (isJson) {
    const { payments, ...others } = results;
    console.log(JSON.stringify({ machine: machine(), ...payments, ...others }));
    return 0;
  }
  reportMachine(machine());
  for (const [name, result] of Object.entries(results)) parts[name].report(result);
  return 0;
}

/** @throws TypeError for an option that does not exist, Error for an unknown part or a value that is not a number */
function optionsOf(args) {
  const names = Object.keys(parts);
  const flags = Object.fromEntries(names.map((name) => [name, { type: 'boolean' }]));
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      ...flags,
      json: { type: 'boolean' },
      short: { type: 'boolean' },
      events: { type: 'string' },
      rates: { type: 'string' },
      seconds: { type: 'string' },
    },
  });
  for (const name of positionals)
    if (!names.includes(name)) throw new Error(`no part ${name}; there are: ${names.join(', ')}`);
  return {
    named: names.filter((name) => values[name] || positionals.includes(name)),
    isJson: values.json ?? false,
    isShort: values.short ?? false,
    /** For the audit. */
    events: values.events === undefined ? undefined : Number(values.events),
    /** For the costs. */
    rates: values.rates?.split(',').map((rate) => positive('rates', rate)),
    seconds: positive('seconds', values.seconds),
  };
}

/** Undefined if it was not given. */
function positive(option, text) {
  if (text === undefined || Number(text) > 0) return text === undefined ? undefined : Number(text);
  throw new Error(`--${option}: ${text} is not a number above 0`);
}

async function benchPayments(scale) {
  return await withPostgres(async (place) => await runAll(scale, place));
}

async function runAll(scale, { databaseUrl, scratch, undo }) {
  const receiver = await startHelper('receiver.mjs');
  undo.push(() => receiver.stop());
  const apiKey = newApiKey();
  const env = sendingSettings({ databaseUrl, scratch }, { apiKey, receiver });
  const results = {};
  const inAll = await startApp(null, env);
  undo.push(() => inAll.stop());
  results.idleRssMb = await idleRss(inAll);
  const target = {
    ...(await createPayable({ url: inAll.url, apiKey })),
    databaseUrl,
  };

  say('create to first webhook at 50 payments/s, everything in one process');
  results.firstWebhook = await firstWebhookLatency(target, receiver, {
    perSecond: 50,
    seconds: scale.paceSeconds,
  });
  say('full lifecycles');
  results.lifecycles = await fullLifecycles(target, receiver, {
    payments: scale.lifecycles,
    connections,
  });
  say('payments accepted, everything in one process and executing');
  results.acceptedAllInOne = await measure(
    'http-load.mjs',
    paymentLoad(target, { ...scale, connections }),
  );
  await inAll.stop();

  const gateway = await startApp('api-gateway', env);
  undo.push(() => gateway.stop());
  const own = { ...target, url: gateway.url };
  say('payments accepted, api-gateway as a process of its own, beside the machine alone');
  Object.assign(results, await besideTheMachine(scale, own));

  say(`list latency at ${scale.listed} payments`);
  results.list = await listAt(scale, own, env, undo);
  results.ratios = ratios(results);
  return results;
}

/**
 * Rounds of single-row inserts, empty POST and payments, one right after the other: the machine
 * changes its speed from one minute to the next, and a ratio within a round does not.
 */
async function besideTheMachine(scale, target) {
  const load = paymentLoad(target, { ...scale, connections });
  const inserts = {
    databaseUrl: target.databaseUrl,
    clients: connections,
    seconds: scale.seconds,
    warmupSeconds: scale.warmupSeconds,
    payload: load.body,
  };
  const empty = await startHelper('empty-server.mjs');
  const rounds = [];
  for (let round = 0; round < scale.rounds; round += 1)
    rounds.push({
      inserts: await measure('insert-load.mjs', inserts),
      emptyPost: await measure('http-load.mjs', { ...load, origin: empty.hello.url, path: '/' }),
      accepted: await measure('http-load.mjs', load),
    });
  await empty.stop();
  return { rounds };
}

async function listAt(scale, target, env, undo) {
  const projector = await startApp('payments-projector', env);
  undo.push(() => projector.stop());
  const result = await listLatency(target, { atLeast: scale.listed, connections });
  await projector.stop();
  return result;
}

/** Medians over the rounds; all-in-one was measured once, against the median of the machine. */
function ratios({ rounds, acceptedAllInOne }) {
  const per = (pick) => median(rounds.map(pick));
  const inserts = per((round) => round.inserts.perSecond);
  const emptyPost = per((round) => round.emptyPost.perSecond);
  return {
    gatewayToInserts: per(({ accepted, inserts: own }) => accepted.perSecond / own.perSecond),
    gatewayToEmptyPost: per(({ accepted, emptyPost: own }) => accepted.perSecond / own.perSecond),
    allInOneToInserts: acceptedAllInOne.perSecond / inserts,
    allInOneToEmptyPost: acceptedAllInOne.perSecond / emptyPost,
  };
}

/** As the process itself reports it, once it has had nothing to do for a while. */
async function idleRss(app) {
  const idleMs = 5_000;
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  return await rssMb(app.url);
}

function machine() {
  return {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model ?? 'unknown',
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    node: process.version,
  };
}
