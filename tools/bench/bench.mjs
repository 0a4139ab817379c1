/** The runs of the bench, in order, and the table. Everything it starts it also ends. */
import { availableParallelism, cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { audit, reportAudit } from './audit.mjs';
import { cost } from './cost.mjs';
import { reportCost } from './cost-report.mjs';
import { eventStores } from './event-store/event-store.mjs';
import { reportEventStores } from './event-store/report.mjs';
import { exports, reportExports } from './exports.mjs';
import { lists, reportLists } from './lists.mjs';
import { pages } from './pages/pages.mjs';
import { reportPages } from './pages/report.mjs';
import { payments } from './payments.mjs';
import { reportRails } from './rails/report.mjs';
import { rails } from './rails/rails.mjs';
import { rateLimits, reportRateLimits } from './rate-limits.mjs';
import { rebuild, reportRebuild } from './rebuild.mjs';
import { reportMachine, reportPayments } from './report.mjs';
import { reportStatements, statements } from './statements.mjs';
import { reportSteady, steady } from './steady.mjs';
import { reportStorage, storage } from './storage.mjs';
import { reportTracing, tracing } from './tracing.mjs';
import { reportWebhooks } from './webhooks/report.mjs';
import { webhooks } from './webhooks/webhooks.mjs';

/**
 * The parts that can be run alone, by their name as an argument, with or without `--`. Without a name all
 * run but those that run only when asked for: `steady` takes ten minutes, and `event-store` leaves its events on a real server.
 */
const parts = {
  payments: { run: payments, report: reportPayments },
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
  rebuild: { run: rebuild, report: reportRebuild },
  storage: { run: storage, report: reportStorage },
  steady: { run: steady, report: reportSteady, onlyWhenAsked: true },
  'event-store': { run: eventStores, report: reportEventStores, onlyWhenAsked: true },
};

/** Those of `--quick`: the main figures within three minutes on two cores. */
const quickParts = ['payments', 'cost'];

export async function bench(args) {
  const { named, isJson, ...options } = optionsOf(args);
  const byDefault = options.isQuick
    ? quickParts
    : Object.keys(parts).filter((name) => !parts[name].onlyWhenAsked);
  const results = {};
  for (const name of named.length > 0 ? named : byDefault)
    results[name] = await parts[name].run(options);
  if (isJson) {
    const { payments: ofPayments, ...others } = results;
    console.log(JSON.stringify({ machine: machine(), ...ofPayments, ...others }));
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
      quick: { type: 'boolean' },
      distributed: { type: 'boolean' },
      floor: { type: 'boolean' },
      events: { type: 'string' },
      rates: { type: 'string' },
      seconds: { type: 'string' },
      minutes: { type: 'string' },
      rate: { type: 'string' },
      svg: { type: 'string' },
    },
  });
  for (const name of positionals)
    if (!names.includes(name)) throw new Error(`no part ${name}; there are: ${names.join(', ')}`);
  const named = names.filter((name) => values[name] || positionals.includes(name));
  if (values.quick && named.some((name) => !quickParts.includes(name)))
    throw new Error(`--quick measures ${quickParts.join(' and ')} only`);
  return {
    named,
    isJson: values.json ?? false,
    isShort: values.short ?? false,
    isQuick: values.quick ?? false,
    /** For the audit. */
    events: values.events === undefined ? undefined : Number(values.events),
    /** For the costs. */
    isDistributed: values.distributed ?? false,
    isFloor: values.floor ?? false,
    rates: values.rates?.split(',').map((rate) => positive('rates', rate)),
    seconds: positive('seconds', values.seconds),
    /** For the steady load. */
    minutes: positive('minutes', values.minutes),
    rate: positive('rate', values.rate),
    svg: values.svg,
  };
}

/** Undefined if it was not given. */
function positive(option, text) {
  if (text === undefined || Number(text) > 0) return text === undefined ? undefined : Number(text);
  throw new Error(`--${option}: ${text} is not a number above 0`);
}

function machine() {
  return {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model ?? 'unknown',
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    node: process.version,
  };
}
