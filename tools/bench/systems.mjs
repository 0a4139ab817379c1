/** The whole system as users run it: in one process, or each app as a process of its own. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { node, root, run } from '../workspace.mjs';
import { rssMbBelow, rssMbOf } from './process-cpu.mjs';
import { startApp, startHelper } from './processes.mjs';
import { call } from './requests.mjs';
import { openClients } from './webhooks/clients.mjs';
import { startBroker } from './webhooks/system.mjs';
import { newApiKey, sendingSettings } from './with-postgres.mjs';

const pis = join(root, 'apps/cli/bin/pis.mjs');
/** What handles a payment. The bank comes first: it writes the banks file. */
const apps = [
  'bank-simulator',
  'api-gateway',
  'payments-projector',
  'directory-projector',
  'rail-executor',
  'webhook-dispatcher',
];
/** Of PostgreSQL, for the pools of so many processes. */
export const distributedSettings = ['max_connections=300'];
const listedWithinMs = 60_000;

/** @returns where it answers, a key, the IDs of its processes by name, and `rssMb()` of those of Node.js */
export async function startAllInOne({ undo, ...place }, receiver) {
  const apiKey = newApiKey();
  const app = await startApp(null, sendingSettings(place, { apiKey, receiver }));
  undo.push(() => app.stop());
  return { ...{ url: app.url, apiKey }, ...measurable({ 'Node.js': app.pid }) };
}

/** A program that does only the input and output of the service. The result is the same as of `startAllInOne`. */
export async function startFloor({ undo, databaseUrl }, receiver) {
  const { url, caFile } = receiver.hello;
  const args = [databaseUrl, `${url}/hook`, caFile];
  const v8Options = ['--max-semi-space-size=32', '--heap-growing-percent=100'];
  const floor = await startHelper('floor-service.mjs', args, v8Options);
  undo.push(() => floor.stop());
  const { pid } = floor.child;
  const processes = { 'Node.js': pid };
  return { ...{ url: floor.hello.url, apiKey: '', processes }, rssMb: () => rssMbOf(pid) };
}

/** On Kafka where this machine can run one, else on the embedded broker. The result is the same as of `startAllInOne`. */
export async function startDistributed({ undo, ...place }, receiver) {
  const kafka = await startBroker(place.scratch, undo);
  const settings = sendingSettings(place, { apiKey: '', receiver });
  const env = {
    ...settings,
    ...(kafka === null ? {} : { PIS_BROKER: 'kafka', KAFKA_BROKERS: kafka.brokers.join(',') }),
    PIS_BANKS_FILE: join(settings.PIS_DATA_DIR, 'simulated-bank/banks.yaml'),
    ...{ PIS_BANK_SFTP_PORT: '0', PIS_BANK_HTTPS_PORT: '0' },
  };
  await run(node, [pis, 'migrate'], { env });
  if (kafka !== null) await run(node, [pis, 'kafka', 'apply'], { env });
  const processes = {};
  const urls = {};
  for (const name of kafka === null ? apps : [...apps, 'event-relay']) {
    const app = await startApp(name, env);
    undo.push(() => app.stop());
    processes[name] = app.pid;
    urls[name] = app.url;
  }
  const clients = openClients(env);
  const { apiKey } = await clients.create(urls['api-gateway'], []);
  await clients.close();
  const url = urls['api-gateway'];
  await originatorListed(url, apiKey);
  const others = kafka === null ? {} : { Kafka: kafka.pid };
  return { ...{ url, apiKey }, ...measurable(processes, others) };
}

function measurable(ours, others = {}) {
  const rssMb = () => Object.values(ours).reduce((sum, pid) => sum + rssMbBelow(pid), 0);
  return { processes: { ...ours, ...others }, rssMb };
}

/** The directory is a projection: it follows what was appended. */
async function originatorListed(url, apiKey) {
  const headers = { authorization: `Bearer ${apiKey}` };
  const deadline = performance.now() + listedWithinMs;
  while ((await call(url, headers, 'GET', '/v1/originators/')).data.length === 0) {
    if (performance.now() > deadline) throw new Error('the originator is not in the directory');
    await delay(100);
  }
}
