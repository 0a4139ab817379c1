import { mkdtempSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
const R='/work/main/tools/bench/';
const { machineMs } = await import(R+'machine-clock.mjs');
const { startApp } = await import(R+'processes.mjs');
const { quantile } = await import(R+'statistics.mjs');
const { openClients } = await import(R+'webhooks/clients.mjs');
const { startDispatcher, startSystem } = await import(R+'webhooks/system.mjs');
const modes = process.argv.slice(2);
const backlog = Number(process.env.BACKLOG ?? 4000);
const scratch = mkdtempSync('/tmp/f1/bench-'); const undo = [() => rmSync(scratch, { recursive: true, force: true })];
const prof = process.env.PROF ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=/tmp/f1/prof` } : {};
try {
  const system = await startSystem(scratch, undo);
  const clients = openClients(system.env); undo.push(() => clients.close());
  const gateway = await startApp('api-gateway', system.env); undo.push(() => gateway.stop());
  const urls = system.receiver.urls.map((u) => `${u}/fast`);
  const subscribed = []; for (let n=0;n<4;n++) subscribed.push(await clients.create(gateway.url, urls.slice(n*5,n*5+5)));
  const alone = await clients.create(gateway.url, [`${system.receiver.urls[0]}/timed`]);
  const { counts } = system.receiver;
  const rate = (from, d) => { const cpu = d.cpu(); const n = counts.received-from.count; return { n, perSecond: Math.round(n/(counts.lastAtMs-from.atMs)*1000), dispatcherCpuMs: (cpu.dispatcherMs-from.cpu.dispatcherMs)/n, postgresCpuMs: (cpu.postgresMs-from.cpu.postgresMs)/n, wall: Math.round(counts.lastAtMs-from.atMs) }; };
  const idle = async (d) => { while ((await d.metric('pis_webhook_in_flight')) > 0) await delay(10); };
  let d;
  if (modes.includes('drain')) {
    await clients.payMany(subscribed, backlog); if (system.kafka) await clients.relayed();
    d = await startDispatcher(system, prof);
    const exp = backlog*5; await system.receiver.until(() => counts.received >= exp*0.2, { limitMs: 120000, what: 'w' });
    const from = { count: counts.received, atMs: counts.lastAtMs, cpu: d.cpu() };
    await system.receiver.until(() => counts.received >= exp, { limitMs: 120000, what: 'all' }); await idle(d);
    console.log('drained', rate(from, d), 'again', counts.again);
  }
  d ??= await startDispatcher(system, prof);
  if (modes.includes('sustain')) {
    const from = { count: counts.received, atMs: machineMs(), cpu: d.cpu() };
    const arrived = () => (counts.received-from.count)/5; let appended=0; const room = () => Math.floor(200-appended+arrived()); const ends = from.atMs+8000;
    while (machineMs() < ends) { await system.receiver.until(() => room() > 0, { limitMs: 30000, what: 'room' }); const c = room(); appended += c; await clients.payMany(subscribed, c); }
    await system.receiver.until(() => arrived() >= appended, { limitMs: 30000, what: 'last' }); await idle(d);
    console.log('sustained', rate(from, d), 'again', counts.again);
  }
  if (modes.includes('latency')) {
    const begun = await clients.payAtPace(alone, { perSecond: 50, seconds: 8 });
    const ids=[...begun.keys()]; await system.receiver.until(() => ids.every((i) => system.receiver.timed.has(i)), { limitMs: 30000, what: 'paced' });
    const l = ids.slice(50).map((i) => system.receiver.timed.get(i)-begun.get(i)).sort((a,b)=>a-b);
    console.log('latency p50', quantile(l,.5), 'p90', quantile(l,.9), 'p99', quantile(l,.99));
  }
  if (process.env.SQL) { const pg=(await import('/work/main/node_modules/pg/lib/index.js')).default; const c=new pg.Client(system.env.DATABASE_URL); await c.connect(); for (const r of (await c.query(process.env.SQL)).rows) console.log(JSON.stringify(r)); await c.end(); }
  await d.stop();
} finally { for (const s of undo.reverse()) await s(); }
