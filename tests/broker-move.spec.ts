/** A whole system moves from the embedded broker to Kafka and back, with the same database. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { PisClient } from '@pis/client';
import {
  createTestDatabase,
  type HttpsReceiver,
  openTestPool,
  startHttpsReceiver,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { completed, paymentTo } from './support/payable.js';
import { type RunningProcess, startProcess } from './support/process.js';

const testLimitMs = 240_000;
const stepLimitMs = 60_000;
const fullKey = 'pis_test_broker_move_spec';
const paymentsPerStep = 5;
const statuses = ['payment.queued', 'payment.processing', 'payment.completed'] as const;

let dataDir: string;
let database: TestDatabase;
let pool: pg.Pool;
let receiver: HttpsReceiver;
let running: RunningProcess | undefined;
let client: PisClient;
let delivered: { readonly paymentId: string; readonly eventType: string }[];
let paymentIds: string[];

beforeAll(async () => {
  dataDir = mkdtempSync(path.join(os.tmpdir(), 'pis-broker-move-'));
  database = await createTestDatabase();
  pool = openTestPool(database.url, 1);
  receiver = await startHttpsReceiver();
  delivered = [];
  paymentIds = [];
  receiver.respondWith(({ body }) => {
    const { eventType, data } = JSON.parse(body) as {
      eventType: string;
      data: { paymentId: string };
    };
    delivered.push({ paymentId: data.paymentId, eventType });
    return {};
  });
}, testLimitMs);
afterAll(async () => {
  await running?.stop();
  await receiver?.close();
  await pool?.end();
  await database?.drop();
  rmSync(dataDir, { recursive: true, force: true });
}, testLimitMs);

const embedded = { PIS_BROKER: 'embedded' };

function kafka(): Record<string, string> {
  const brokers = process.env['PIS_TEST_KAFKA_BROKERS'];
  if (!brokers) throw new Error('PIS_TEST_KAFKA_BROKERS is not set: run through npm test');
  return {
    PIS_BROKER: 'kafka',
    KAFKA_BROKERS: brokers,
    KAFKA_PREFIX: `t${randomUUID().slice(0, 8)}.`,
  };
}

async function start(broker: Readonly<Record<string, string>>): Promise<void> {
  running = await startProcess(null, {
    PIS_DATA_DIR: dataDir,
    DATABASE_URL: database.url,
    PIS_BOOTSTRAP_API_KEY: fullKey,
    PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    PIS_WEBHOOK_CA_FILE: receiver.caFile,
    ...broker,
  });
  client = new PisClient({ baseUrl: String(running.ready['apiUrl']), apiKey: fullKey });
}

async function pay(): Promise<readonly string[]> {
  const payment = await paymentTo(client);
  const created = await Promise.all(
    Array.from({ length: paymentsPerStep }, () => client.payments.create(payment)),
  );
  const ids = created.map(({ paymentId }) => paymentId);
  paymentIds.push(...ids);
  return ids;
}

/** Every payment so far is executed and its events are delivered. */
async function settled(): Promise<void> {
  await completed(client, paymentIds);
  await until(() => delivered.length >= paymentIds.length * statuses.length, {
    timeoutMs: stepLimitMs,
    what: 'all webhooks delivered',
  });
  await until(
    async () => (await pool.query('SELECT FROM webhook_deliveries LIMIT 1')).rowCount === 0,
    { timeoutMs: stepLimitMs, what: 'all deliveries recorded' },
  );
}

/** The checkpoints of the groups are at the end of the log. */
async function noted(): Promise<void> {
  await until(
    async () => {
      const { rows } = await pool.query<{ behind: boolean }>(
        `SELECT position < (SELECT lpad(max(position)::text, 20, '0') FROM events WHERE stream_id LIKE 'payment-%') AS behind
         FROM consumer_checkpoints WHERE consumer_group IN ('rail-executor', 'webhook-dispatcher')`,
      );
      return rows.length === 2 && rows.every(({ behind }) => !behind);
    },
    { timeoutMs: stepLimitMs, what: 'the groups at the end of the log' },
  );
}

/** Drops the fan-outs, like the dispatcher's retention: events that are read again would be delivered again. */
async function forgetDeliveries(): Promise<void> {
  await pool.query('DELETE FROM webhook_fan_outs');
}

/** Stops the system while some payments are under way. */
async function move(to: Readonly<Record<string, string>>): Promise<void> {
  await settled();
  await noted();
  await forgetDeliveries();
  await pay();
  await running?.stop();
  await start(to);
}

it(
  'executes and delivers everything once while it moves to Kafka and back',
  async () => {
    await start(embedded);
    await client.webhooks.create({ url: `${receiver.url}/hook`, subscribedEvents: statuses });
    await pay();
    await move(kafka());
    await pay();
    await move(embedded);
    await pay();
    await settled();
    await noted();

    const transfers = await pool.query<{ executions: number; transfers: number }>(
      'SELECT count(*)::int AS executions, count(DISTINCT reference)::int AS transfers FROM bank_executions',
    );
    const expected = paymentIds.length;
    expect(transfers.rows).toEqual([{ executions: expected, transfers: expected }]);
    const deliveries = delivered
      .map(({ paymentId, eventType }) => `${paymentId} ${eventType}`)
      .sort();
    const once = paymentIds.flatMap((id) => statuses.map((status) => `${id} ${status}`)).sort();
    expect(deliveries).toEqual(once);
  },
  testLimitMs,
);
