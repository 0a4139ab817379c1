/**
 * What a payment costs at several rates, and what the idle system costs: the whole system with the settings of a user, in
 * one process or in one for each app, from the request to the third webhook of one endpoint. Or, with `--floor`, a program
 * in its place that does only the input and output: what no service on the same libraries and machine can go below.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { say } from '../workspace.mjs';
import { withEndpoint } from './lifecycle.mjs';
import { meterSettings, openMeter, used } from './meter.mjs';
import { deliveryOf, startPace } from './pace.mjs';
import { startHelper } from './processes.mjs';
import { createPayable } from './requests.mjs';
import { distributedSettings, startAllInOne, startDistributed, startFloor } from './systems.mjs';
import { withPostgres } from './with-postgres.mjs';

const full = { rates: [1, 50, 500], seconds: 20, warmupSeconds: 10, idleSeconds: 30 };
const quick = { rates: [1, 50], seconds: 6, warmupSeconds: 3, idleSeconds: 5 };
const short = { rates: [1, 20], seconds: 3, warmupSeconds: 1, idleSeconds: 2 };
const warmupPerSecond = 100;
/** For what follows the start, or the last webhook: its record, lists, acknowledgements of the bank. */
const settleMs = 3_000;

/** @param rates payments per second; @param seconds of load at each; @param isDistributed a process for each app; @param isFloor floor-service.mjs */
export async function cost({ isShort, isQuick, isDistributed, isFloor, rates, seconds }) {
  const scale = isShort ? short : isQuick ? quick : full;
  const asked = { rates: rates ?? scale.rates, seconds: seconds ?? scale.seconds };
  const start = isFloor ? startFloor : isDistributed ? startDistributed : startAllInOne;
  const work = (place) => measureAll({ ...scale, ...asked }, place, start);
  const settings = [...meterSettings, ...(isDistributed ? distributedSettings : [])];
  return { isDistributed, isFloor, ...(await withPostgres(work, { settings })) };
}

async function measureAll(scale, place, start) {
  const { undo } = place;
  const receiver = await startHelper('receiver.mjs');
  undo.push(() => receiver.stop());
  const app = await start(place, receiver);
  const target = await createPayable(app);
  const meter = await openMeter({ ...place, processes: app.processes });
  undo.push(() => meter.close());
  const idle = await measureIdle(scale, { app, meter });
  return await withEndpoint(target, receiver, async (arrivals) => {
    const pace = await startPace(target, arrivals);
    undo.push(() => pace.stop());
    say('warm-up');
    await pace.pay({ perSecond: warmupPerSecond, seconds: scale.warmupSeconds });
    const afterPayments = await measureIdle(scale, { app, meter });
    const rates = [];
    for (const perSecond of scale.rates) {
      arrivals.clear();
      say(`${perSecond} payments per second for ${scale.seconds} s`);
      const load = { perSecond, seconds: scale.seconds };
      rates.push(await measureRate(load, { app, meter, pace, arrivals }));
    }
    return { idle, afterPayments, rates };
  });
}

/** Loops of the executor look for news more often until a minute after the last payment. */
async function measureIdle({ idleSeconds }, { app, meter }) {
  await delay(settleMs);
  say(`no load for ${idleSeconds} s`);
  const before = await meter.read();
  await delay(idleSeconds * 1000);
  const sum = used(before, await meter.read());
  return costsOf({ ...sum, rssMb: app.rssMb() }, sum.seconds);
}

async function measureRate({ perSecond, seconds }, { app, meter, pace, arrivals }) {
  const before = await meter.read();
  const payments = await pace.pay({ perSecond, seconds });
  await delay(settleMs);
  const after = await meter.read();
  const sum = used(before, after);
  return {
    perSecond,
    payments: payments.length,
    seconds: sum.seconds,
    ...costsOf({ ...sum, rssMb: app.rssMb() }, payments.length),
    ...deliveryOf(payments, arrivals, seconds),
  };
}

const shownStatements = 12;

/** Per payment, or per second. The statements that take the most time come first. */
function costsOf({ cpuMs, statements, calls, logReads, walBytes, rssMb: memory }, count) {
  return {
    cpuMs: Object.fromEntries(Object.entries(cpuMs).map(([name, ms]) => [name, ms / count])),
    totalCpuMs: Object.values(cpuMs).reduce((sum, ms) => sum + ms, 0) / count,
    statements: calls / count,
    logReads: logReads / count,
    walBytes: walBytes / count,
    rssMb: memory,
    topStatements: statements
      .toSorted((a, b) => b.ms - a.ms)
      .slice(0, shownStatements)
      .map(({ query, ...one }) => ({
        ...{ calls: one.calls / count, ms: one.ms / count },
        query: query.replaceAll(/\s+/g, ' ').slice(0, 300),
      })),
  };
}
