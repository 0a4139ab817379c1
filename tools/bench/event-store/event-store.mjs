/**
 * What an event store costs: the client alone beside the system on the same store, for PostgreSQL and for
 * both clients of EventStoreDB. Without EVENTSTOREDB_URL these use the stand-in, which keeps its log in
 * memory: its figures show the cost of the clients and the system, not what a server does. A real server is
 * measured too when EVENTSTOREDB_URL names it; the events stay on it, under a namespace of their own.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startPostgres } from '@pis/local-servers';
import { migrate } from '@pis/read-models';
import pg from 'pg';
import { commandEnv, node, root, say } from '../../workspace.mjs';
import { fullLifecycles } from '../lifecycle.mjs';
import { measure, startApp, startHelper } from '../processes.mjs';
import { createPayable, paymentLoad } from '../requests.mjs';
import { median } from '../statistics.mjs';

const pis = join(root, 'apps/cli/bin/pis.mjs');
const widths = [16, 64];
const lifecycleConnections = 32;
const full = {
  client: { seconds: 5, warmupSeconds: 1 },
  creates: { seconds: 5, warmupSeconds: 1 },
  lifecycles: 2_000,
  rebuilds: 3,
  settlePollMs: 1_000,
};
/** Everything once, to see that it works. On a busy machine a measurement without a result is made again. */
const short = {
  client: { seconds: 0.2, warmupSeconds: 0.1 },
  creates: { seconds: 0.5, warmupSeconds: 0.2 },
  lifecycles: 10,
  rebuilds: 1,
  settlePollMs: 100,
};
const settleLimitMs = 300_000;
/** How often a measurement is made again, each time twice as long. */
const againMax = 4;

/** @returns figures by the name of the store */
export async function eventStores({ isShort }) {
  const results = {};
  for (const kind of kinds()) {
    say(`event store: ${kind.name}`);
    results[kind.name] = await measured(kind, isShort ? short : full);
  }
  return results;
}

function kinds() {
  const clients = ['eventstore', 'kurrent'];
  const real = process.env.EVENTSTOREDB_URL;
  return [
    { name: 'PostgreSQL', client: 'postgres' },
    ...clients.map((client) => ({ name: `stand-in, ${client}`, client })),
    ...(real ? clients.map((client) => ({ name: `server, ${client}`, client, url: real })) : []),
  ];
}

async function measured(kind, scale) {
  const scratch = mkdtempSync(join(tmpdir(), 'pis-bench-'));
  const undo = [() => rmSync(scratch, { recursive: true, force: true })];
  try {
    const { alone, store, env } = await startStore(kind, scratch, undo);
    const before = await clientAlone(alone, scale.client);
    const system = await systemOn(env, scale, undo);
    const from = store.url === alone.url ? before.position : null;
    const rebuilt = await rebuilds({ ...store, from }, env, scale);
    return figures([before, await clientAlone(alone, scale.client)], system, rebuilt);
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

/**
 * The servers, and the settings of the system. The client alone writes to a stand-in of its own: a rebuild
 * must not pass over these events.
 */
async function startStore({ client, url: given }, scratch, undo) {
  const postgres = await startPostgres({ dataDir: join(scratch, 'postgres'), database: 'bench' });
  undo.push(() => postgres.stop());
  const databaseUrl = postgres.url;
  await migrate({ connectionString: databaseUrl });
  const env = {
    DATABASE_URL: databaseUrl,
    PIS_DATA_DIR: join(scratch, 'data'),
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    PIS_RATE_LIMIT_PER_KEY: '0',
    PIS_EVENT_STORE: 'postgres',
    LOG_LEVEL: 'warn',
  };
  if (client === 'postgres') {
    const store = { client, url: databaseUrl };
    return { alone: store, store, env };
  }
  const url = given ?? (await startStandIn(undo));
  return {
    alone: { client, url: given ?? (await startStandIn(undo)) },
    store: { client, url },
    env: {
      ...env,
      PIS_EVENT_STORE: 'eventstoredb',
      EVENTSTOREDB_URL: url,
      EVENTSTOREDB_CLIENT: client,
      EVENTSTOREDB_NAMESPACE: `bench${randomBytes(4).toString('hex')}`,
    },
  };
}

async function startStandIn(undo) {
  const standIn = await startHelper('event-store/stand-in.mjs');
  undo.push(() => standIn.stop());
  return standIn.hello.url;
}

/** Measured before the system and after it, because the machine changes its speed. */
async function clientAlone(store, times) {
  const works = [
    { work: 'appends', callers: 1 },
    ...widths.map((callers) => ({ work: 'appends', callers })),
    { work: 'reads', callers: widths[0] },
  ];
  const results = await untilMeasured(times, (given) =>
    measure('event-store/load.mjs', {
      ...store,
      works: works.map((work) => ({ ...work, ...given })),
    }),
  );
  const [one, ...others] = results;
  const appends = Object.fromEntries(widths.map((width, n) => [width, others[n]]));
  return { one, appends, reads: others.at(-1), position: appends[widths.at(-1)].position };
}

/** A time in which nothing ended gives no figure: then the works are measured for a longer one. */
async function untilMeasured(times, work) {
  let { seconds } = times;
  for (let again = 0; ; again += 1, seconds *= 2) {
    const results = await work({ ...times, seconds });
    if (again === againMax || results.every(({ perSecond }) => perSecond > 0)) return results;
  }
}

/** Everything in one process on the store, executing what is created. */
async function systemOn(env, scale, undo) {
  const receiver = await startHelper('receiver.mjs');
  undo.push(() => receiver.stop());
  const apiKey = `pis_test_${randomBytes(32).toString('base64url')}`;
  const app = await startApp(null, {
    ...env,
    PIS_BOOTSTRAP_API_KEY: apiKey,
    PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    PIS_WEBHOOK_CA_FILE: receiver.hello.caFile,
  });
  undo.push(() => app.stop());
  const target = await createPayable({ url: app.url, apiKey });
  const one = await creates(target, 1, scale.creates);
  await settled(env.DATABASE_URL, scale.settlePollMs);
  const lifecycles = await fullLifecycles(target, receiver, {
    payments: scale.lifecycles,
    connections: lifecycleConnections,
  });
  const wide = {};
  for (const width of widths) {
    wide[width] = await creates(target, width, scale.creates);
    await settled(env.DATABASE_URL, scale.settlePollMs);
  }
  await app.stop();
  return { one, creates: wide, lifecycles };
}

async function creates(target, connections, times) {
  const [result] = await untilMeasured(times, async (given) => {
    const load = paymentLoad(target, { ...given, connections });
    const { p50Ms, p99Ms, statuses } = await measure('http-load.mjs', load);
    const { 201: created = 0, ...others } = statuses;
    if (created === 0 && Object.keys(others).length > 0)
      throw new Error(`no payment was created: ${JSON.stringify(others)}`);
    return [{ perSecond: created / given.seconds, p50Ms, p99Ms, others }];
  });
  return result;
}

/** Resolves once all payments are through and the list has stopped to grow. */
async function settled(databaseUrl, pollMs) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const endsAtMs = performance.now() + settleLimitMs;
    for (let before = -1; ; ) {
      const { rows } = await client.query(`SELECT count(*)::int AS payments,
        count(*) FILTER (WHERE status IN ('QUEUED', 'PROCESSING'))::int AS open FROM payments`);
      const [{ payments, open }] = rows;
      if (open === 0 && payments === before) return;
      if (performance.now() > endsAtMs) throw new Error(`${open} payments are not through`);
      before = payments;
      await delay(pollMs);
    }
  } finally {
    await client.end();
  }
}

/** Rounds of the client's own reading of the log and a rebuild, one right after the other. */
async function rebuilds({ from, ...store }, env, { rebuilds: rounds }) {
  const done = [];
  while (done.length < rounds) {
    const works = [{ work: 'log', from }];
    const [reading] = await measure('event-store/load.mjs', { ...store, works });
    done.push({ reading, rebuild: await rebuild(env) });
  }
  return done;
}

async function rebuild(env) {
  const args = [pis, 'projections', 'rebuild', 'payments', '--actor', 'bench', '--json'];
  const { stdout } = await promisify(execFile)(node, args, {
    cwd: root,
    env: { ...commandEnv(), ...env },
  });
  const [{ eventsRead, eventsPerSecond }] = JSON.parse(stdout);
  return { events: eventsRead, perSecond: eventsPerSecond };
}

/** The client's figures are the mean of before and after. */
function figures(alone, system, rounds) {
  const mean = (pick) => (pick(alone[0]) + pick(alone[1])) / 2;
  const per = (pick) => median(rounds.map(pick));
  const atWidth = (width) => {
    const appendsPerSecond = mean(({ appends }) => appends[width].perSecond);
    const created = system.creates[width];
    return {
      appendsPerSecond,
      createsPerSecond: created.perSecond,
      createsToAppends: created.perSecond / appendsPerSecond,
      createP50Ms: created.p50Ms,
      createP99Ms: created.p99Ms,
      notCreated: created.others,
    };
  };
  const appendP50Ms = mean(({ one }) => one.p50Ms);
  return {
    widths: Object.fromEntries(widths.map((width) => [width, atWidth(width)])),
    one: { appendP50Ms, createP50Ms: system.one.p50Ms, inAppends: system.one.p50Ms / appendP50Ms },
    readsPerSecond: mean(({ reads }) => reads.perSecond),
    lifecyclesPerSecond: system.lifecycles.perSecond,
    log: {
      events: per(({ reading }) => reading.events),
      eventsPerSecond: per(({ reading }) => reading.perSecond),
      rebuildEventsPerSecond: per(({ rebuild: own }) => own.perSecond),
      rebuildToReading: per(({ reading, rebuild: own }) => own.perSecond / reading.perSecond),
    },
  };
}
