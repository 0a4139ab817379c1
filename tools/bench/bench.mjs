/** The runs of the bench, in order, and the table. Everything it starts it also ends. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '@pis/local-servers';
import { say } from '../workspace.mjs';
import { firstWebhookLatency, fullLifecycles } from './lifecycle.mjs';
import { measure, startApp, startHelper } from './processes.mjs';
import { report } from './report.mjs';
import { createPayable, listLatency, paymentLoad } from './requests.mjs';

const connections = 64;
const full = { seconds: 10, warmupSeconds: 3, listed: 100_000, paceSeconds: 20, lifecycles: 5_000 };
const short = { seconds: 2, warmupSeconds: 1, listed: 2_000, paceSeconds: 3, lifecycles: 200 };

export async function bench(args) {
  const scale = args.includes('--short') ? short : full;
  const scratch = mkdtempSync(join(tmpdir(), 'pis-bench-'));
  const undo = [() => rmSync(scratch, { recursive: true, force: true })];
  try {
    const results = await runAll(scale, scratch, undo);
    report({ machine: machine(), ...results }, args.includes('--json'));
    return 0;
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

async function runAll(scale, scratch, undo) {
  const postgres = await startPostgres({ dataDir: join(scratch, 'postgres'), database: 'bench' });
  undo.push(() => postgres.stop());
  const receiver = await startHelper('receiver.mjs');
  undo.push(() => receiver.stop());
  const apiKey = `pis_test_${randomBytes(32).toString('base64url')}`;
  const env = {
    DATABASE_URL: postgres.url,
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    PIS_DATA_DIR: join(scratch, 'data'),
    PIS_BOOTSTRAP_API_KEY: apiKey,
    PIS_RATE_LIMIT_PER_KEY: '0',
    PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    PIS_WEBHOOK_CA_FILE: receiver.hello.caFile,
    LOG_LEVEL: 'warn',
  };
  const results = {};
  const inAll = await startApp(null, env);
  undo.push(() => inAll.stop());
  results.idleRssMb = await idleRss(inAll);
  const target = {
    ...(await createPayable({ url: inAll.url, apiKey })),
    databaseUrl: postgres.url,
  };

  say('the machine alone: single-row inserts, empty POST');
  results.limits = await limits(scale, postgres.url, target);
  say('payments accepted, everything in one process');
  results.acceptedAllInOne = await measure(
    'http-load.mjs',
    paymentLoad(target, { ...scale, connections }),
  );
  await settled(target);
  say('create to first webhook at 50 payments/s');
  results.firstWebhook = await firstWebhookLatency(target, receiver, {
    perSecond: 50,
    seconds: scale.paceSeconds,
  });
  say('full lifecycles');
  results.lifecycles = await fullLifecycles(target, receiver, {
    payments: scale.lifecycles,
    connections,
  });
  await inAll.stop();

  say('payments accepted, api-gateway as a process of its own');
  const gateway = await startApp('api-gateway', env);
  undo.push(() => gateway.stop());
  const own = { ...target, url: gateway.url };
  results.acceptedGateway = await measure(
    'http-load.mjs',
    paymentLoad(own, { ...scale, connections }),
  );

  say(`list latency at ${scale.listed} payments`);
  results.list = await listAt(scale, own, env, undo);
  results.ratios = ratios(results);
  return results;
}

async function limits(scale, databaseUrl, target) {
  const { body } = paymentLoad(target, { ...scale, connections });
  const inserts = await measure('insert-load.mjs', {
    databaseUrl,
    clients: connections,
    seconds: scale.seconds,
    warmupSeconds: scale.warmupSeconds,
    payload: body,
  });
  const empty = await startHelper('empty-server.mjs');
  const emptyPost = await measure('http-load.mjs', {
    ...paymentLoad({ ...target, url: empty.hello.url }, { ...scale, connections }),
    path: '/',
  });
  await empty.stop();
  return { inserts, emptyPost };
}

async function listAt(scale, target, env, undo) {
  const projector = await startApp('payments-projector', env);
  undo.push(() => projector.stop());
  const result = await listLatency(target, { atLeast: scale.listed, connections });
  await projector.stop();
  return result;
}

function ratios({ limits: { inserts, emptyPost }, acceptedGateway, acceptedAllInOne }) {
  return {
    gatewayToInserts: acceptedGateway.perSecond / inserts.perSecond,
    gatewayToEmptyPost: acceptedGateway.perSecond / emptyPost.perSecond,
    allInOneToInserts: acceptedAllInOne.perSecond / inserts.perSecond,
    allInOneToEmptyPost: acceptedAllInOne.perSecond / emptyPost.perSecond,
  };
}

/** As the process itself reports it, once it has had nothing to do for a while. */
async function idleRss(app) {
  const idleMs = 5_000;
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  const text = await (await fetch(`${app.url}/metrics`)).text();
  const bytes = /^process_resident_memory_bytes(?:\{[^}]*\})? (\S+)$/m.exec(text)?.[1];
  return Number(bytes) / 1024 / 1024;
}

/** Until everything accepted so far has reached a final status, so that runs do not overlap. */
async function settled({ url, headers }) {
  for (;;) {
    const busy = await Promise.all(
      ['QUEUED', 'PROCESSING'].map(async (status) => {
        const response = await fetch(`${url}/v1/payments/?limit=1&status=${status}`, { headers });
        return (await response.json()).data.length;
      }),
    );
    if (busy.every((count) => count === 0)) return;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

function machine() {
  return {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model ?? 'unknown',
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    node: process.version,
  };
}
