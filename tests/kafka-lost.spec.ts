/**
 * All of Kafka is lost, with payments under way. The gateway goes on answering. On a new, empty cluster
 * `pis relay rewind` publishes the log again: every payment ends as it would have, and nothing happens twice.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Kafka, startKafka } from '@pis/local-servers';
import {
  createTestDatabase,
  type HttpsReceiver,
  openTestPool,
  startHttpsReceiver,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { Api } from './support/api.js';
import { completedWebhooks } from './support/completed-webhooks.js';
import { payable } from './support/payable.js';
import { pisJson, type RunningProcess } from './support/process.js';
import { listed } from './support/rails-chaos-auditor.js';
import { banksFileOfTheReadme } from './support/readme.js';
import { provision } from './support/systems.js';
import { startApp } from './support/victim.js';

const startLimitMs = 240_000;
const testLimitMs = 300_000;
const arrivalLimitMs = 120_000;
const consumers = [
  'directory-projector',
  'payments-projector',
  'rail-executor',
  'webhook-dispatcher',
];
const batch = 12;

let base: string;
let database: TestDatabase;
let receiver: HttpsReceiver;
let cluster: Kafka;
let environment: Readonly<Record<string, string>>;
let apiKey: string;
let running: RunningProcess[] = [];
let bank: RunningProcess | null = null;

const describeOnKafka = process.env['PIS_TEST_KAFKA_BROKERS'] ? describe : describe.skip;

describeOnKafka('when all of Kafka is lost', () => {
  beforeAll(async () => {
    base = mkdtempSync(path.join(os.tmpdir(), 'pis-kafka-lost-'));
    database = await createTestDatabase();
    receiver = await startHttpsReceiver();
    cluster = await startKafka();
    const dataDir = path.join(base, 'data');
    environment = {
      DATABASE_URL: database.url,
      PIS_MASTER_KEY: randomBytes(32).toString('base64'),
      PIS_DATA_DIR: dataDir,
      PIS_BANKS_FILE: banksFileOfTheReadme(dataDir),
      PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      PIS_WEBHOOK_CA_FILE: receiver.caFile,
      PIS_BROKER: 'kafka',
      KAFKA_BROKERS: cluster.brokers.join(','),
    };
    await pisJson(['migrate'], environment);
    await pisJson(['kafka', 'apply'], environment);
    ({ apiKey } = await provision(environment));
    bank = await startApp('bank-simulator', environment);
  }, startLimitMs);
  afterAll(async () => {
    await killAll();
    await bank?.kill();
    await cluster?.stop();
    await receiver?.close();
    await database?.drop();
    rmSync(base, { recursive: true, force: true });
  }, startLimitMs);

  it(
    'every payment is executed once and told once on a new cluster, after the relay was rewound',
    async () => {
      const began = new Date().toISOString();
      const told = completedWebhooks(receiver);
      const api = apiOf(await startAll());
      const hooks = { url: `${receiver.url}/hooks`, subscribedEvents: ['payment.*'] };
      await api.data(201, 'POST', '/v1/webhooks', hooks);
      const payment = await payable(api);
      const ids = await created(api, payment);
      await until(() => told.size > 0, { timeoutMs: arrivalLimitMs, what: 'the first webhook' });
      await cluster.kill();
      // Nobody needs Kafka to take an order.
      ids.push(...(await created(api, payment)));
      await killAll();
      await cluster.stop();
      const before = new Set(told.keys());

      cluster = await startKafka();
      environment = { ...environment, KAFKA_BROKERS: cluster.brokers.join(',') };
      await pisJson(['kafka', 'apply'], environment);
      await pisJson(['relay', 'rewind', '--to', began, '--reason', 'Kafka was lost'], environment);
      const after = apiOf(await startAll());
      const last = await created(after, payment);
      const all = [...ids, ...last];
      const missing = () => all.filter((paymentId) => !told.has(paymentId));
      await until(() => missing().length === 0, {
        ...{ timeoutMs: arrivalLimitMs, what: 'webhooks of all payments' },
      }).catch((error: unknown) => {
        throw new Error(`never told: ${missing().join(' ')}`, { cause: error });
      });
      // Otherwise nothing was under way when it was lost.
      expect(before.size).toBeLessThan(ids.length);
      expect([...told].filter(([, eventIds]) => eventIds.size > 1)).toEqual([]);
      const statuses = (await listed(after)).map(({ paymentId, status }) => [paymentId, status]);
      expect(new Map(statuses as [string, string][])).toEqual(
        new Map(all.map((paymentId) => [paymentId, 'COMPLETED'])),
      );
      expect(await executions()).toEqual({ executions: all.length, references: all.length });
    },
    testLimitMs,
  );
});

/** All but the bank. The gateway. */
async function startAll(): Promise<RunningProcess> {
  const apps = ['api-gateway', 'event-relay', ...consumers];
  const starting = apps.map(async (app) => {
    const started = await startApp(app, environment);
    running.push(started);
    return started;
  });
  const [gateway] = await Promise.all(starting);
  if (gateway === undefined) throw new Error('no gateway');
  return gateway;
}

async function killAll(): Promise<void> {
  const ending = running;
  running = [];
  await Promise.all(ending.map((one) => one.kill()));
}

function apiOf(gateway: RunningProcess): Api {
  return new Api(String(gateway.ready['url']), apiKey);
}

async function created(api: Api, payment: Readonly<Record<string, unknown>>): Promise<string[]> {
  const answers = Array.from({ length: batch }, async () => {
    const { status, body } = await api.createPayment(payment, randomUUID());
    expect(status).toBe(201);
    return (body.data as { paymentId: string }).paymentId;
  });
  return Promise.all(answers);
}

async function executions(): Promise<unknown> {
  const pool = openTestPool(database.url, 1);
  try {
    const { rows } = await pool.query(
      'SELECT count(*)::int AS executions, count(DISTINCT reference)::int AS "references" FROM bank_executions',
    );
    return rows[0];
  } finally {
    await pool.end();
  }
}
