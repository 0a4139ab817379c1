/**
 * PostgreSQL restored to a point in time, from a base backup and the archived WAL: every payment until that point is
 * there, the connections to the bank are paused, and the bank's file names what the restored log lacks. The
 * bank has a database of its own, which is not restored.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { bankToday } from '@pis/bank-statements/sandbox';
import { daysAfter } from '@pis/bank-rails';
import { type Postgres, startPostgres } from '@pis/local-servers';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import pg from 'pg';
import { Api } from './support/api.js';
import { payable } from './support/payable.js';
import { baseBackup, writeInCluster } from './support/postgres-copies.js';
import { pis, pisJson, type RunningProcess, startProcess } from './support/process.js';
import { listed } from './support/rails-chaos-auditor.js';
import { type SimulatedBank, startSimulatedBank } from './support/simulated-bank.js';

const startLimitMs = 240_000;
const testLimitMs = 300_000;
const arrivalLimitMs = 90_000;
const restorePoint = 'before_the_mistake';

let base: string;
let archive: string;
let bankDatabase: TestDatabase;
let bank: SimulatedBank;
let bankEnvironment: Readonly<Record<string, string>>;
let server: Postgres;
let environment: Readonly<Record<string, string>>;
let app: RunningProcess | null = null;

beforeAll(async () => {
  base = mkdtempSync(path.join(os.tmpdir(), 'pis-point-in-time-'));
  // The server may run as another user.
  chmodSync(base, 0o755);
  archive = path.join(base, 'archive');
  mkdirSync(archive);
  chmodSync(archive, 0o777);
  bankDatabase = await createTestDatabase();
  bankEnvironment = {
    DATABASE_URL: bankDatabase.url,
    PIS_DATA_DIR: path.join(base, 'bank'),
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
  };
  bank = await startSimulatedBank(bankEnvironment);
  server = await startServer('first', ['archive_mode=on', `archive_command=cp %p ${archive}/%f`]);
  environment = {
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    PIS_DATA_DIR: path.join(base, 'data'),
    PIS_BANKS_FILE: bank.banksFile,
    PIS_RATE_LIMIT_PER_KEY: '0',
  };
}, startLimitMs);
afterAll(async () => {
  await app?.stop();
  await bank?.process.stop();
  await server?.stop();
  await bankDatabase?.drop();
  rmSync(base, { recursive: true, force: true });
}, startLimitMs);

it(
  'has every payment until that point and pauses the banks; the rest is found in the file of the bank',
  async () => {
    app = await startProcess(null, { ...environment, DATABASE_URL: server.url });
    const apiKey = String(app.ready['apiKey']);
    const before = apiOf(app, apiKey);
    const payment = await payable(before);
    const kept = await completed(before, payment, 100);
    const copy = path.join(base, 'restored');
    await baseBackup(server, copy, async () => {
      kept.push(...(await completed(before, payment, 200)));
    });
    kept.push(...(await completed(before, payment, 300)));
    const histories = await historiesOf(before, kept);
    await query(`SELECT pg_create_restore_point('${restorePoint}')`);
    const lost = await completed(before, payment, 400);
    await app.stop();
    await query('SELECT pg_switch_wal()');
    await until(async () => (await unarchived()) === 0, {
      ...{ timeoutMs: arrivalLimitMs, what: 'the archive to have all WAL' },
    });
    await server.stop();

    server = await restored(copy);
    app = await startProcess(null, { ...environment, DATABASE_URL: server.url });
    const after = apiOf(app, apiKey);
    expect(await historiesOf(after, kept)).toEqual(histories);
    for (const paymentId of lost)
      expect((await after.call('GET', `/v1/payments/${paymentId}`)).status).toBe(404);
    // Lists that are built anew from the restored log have the same rows.
    const lists = async () => (await listed(after)).toSorted(byId);
    const restoredLists = await lists();
    const operator = { ...environment, DATABASE_URL: server.url };
    await pisJson(['projections', 'rebuild', 'payments'], operator);
    expect(await lists()).toEqual(restoredLists);
    expect(restoredLists.map(({ paymentId }) => paymentId)).toEqual(kept.toSorted());

    const { data: connections } = await pisJson<{
      readonly data: readonly { readonly connection: string; readonly pausedAt: string | null }[];
    }>(['rails', 'connections'], operator);
    expect(connections).not.toEqual([]);
    expect(connections.filter(({ pausedAt }) => pausedAt === null)).toEqual([]);
    expect(await missingHere(operator)).toBe(lost.length);

    for (const { connection } of connections)
      await pisJson(
        ['rails', 'resume', '--connection', connection, '--reason', 'compared with its file'],
        operator,
      );
    await completed(after, payment, 500);
    const everyAmount = [100, 200, 300, 400, 500].flatMap((first) => [first, first + 1, first + 2]);
    expect(await executedAmounts()).toEqual(everyAmount);
  },
  testLimitMs,
);

function apiOf(running: RunningProcess, apiKey: string): Api {
  return new Api(String(running.ready['apiUrl']), apiKey);
}

function byId(a: { readonly paymentId: string }, b: { readonly paymentId: string }): number {
  return a.paymentId < b.paymentId ? -1 : 1;
}

function startServer(name: string, settings: readonly string[]): Promise<Postgres> {
  return startPostgres({ dataDir: path.join(base, name), database: 'pis', settings });
}

/** Three payments, each of an amount of its own. */
async function completed(
  api: Api,
  payment: Readonly<Record<string, unknown>>,
  amount: number,
): Promise<string[]> {
  const made = [0, 1, 2].map(async (number) => {
    const body = { ...payment, paymentAmount: amount + number };
    const { status, body: answer } = await api.createPayment(body, randomUUID());
    expect(status).toBe(201);
    return (answer.data as { paymentId: string }).paymentId;
  });
  const paymentIds = await Promise.all(made);
  for (const paymentId of paymentIds)
    await until(
      async () =>
        (await api.data<{ status: string }>(200, 'GET', `/v1/payments/${paymentId}`)).status ===
        'COMPLETED',
      { timeoutMs: arrivalLimitMs, what: 'a completed payment' },
    );
  return paymentIds;
}

/** Each payment as it is read. */
async function historiesOf(api: Api, paymentIds: readonly string[]): Promise<readonly unknown[]> {
  return Promise.all(paymentIds.map((id) => api.data(200, 'GET', `/v1/payments/${id}`)));
}

/** Starts a server on the copy. Resolves when it has reached the point and accepts writes. */
async function restored(copy: string): Promise<Postgres> {
  writeInCluster(copy, 'recovery.signal', '');
  const started = await startServer('restored', [
    ...['archive_mode=off', `restore_command=cp ${archive}/%f %p`],
    ...[`recovery_target_name=${restorePoint}`, 'recovery_target_action=promote'],
  ]);
  const pool = openTestPool(started.url, 1);
  try {
    await until(
      async () => {
        const { rows } = await pool.query<{ recovers: boolean }>(
          'SELECT pg_is_in_recovery() AS recovers',
        );
        return rows[0]?.recovers === false;
      },
      { timeoutMs: arrivalLimitMs, what: 'the end of the recovery' },
    );
  } finally {
    await pool.end();
  }
  return started;
}

async function query<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Complete WAL files that the archive does not have yet. */
async function unarchived(): Promise<number> {
  const [row] = await query<{ count: number }>(
    "SELECT count(*)::int AS count FROM pg_ls_archive_statusdir() WHERE name LIKE '%.ready'",
  );
  return row?.count ?? 0;
}

/** What the bank has executed, one row per execution. */
async function executedAmounts(): Promise<readonly number[]> {
  const pool = openTestPool(bankDatabase.url, 1);
  try {
    const { rows } = await pool.query<{ amount: number }>(
      'SELECT amount_minor::float8 AS amount FROM bank_executions ORDER BY amount_minor',
    );
    return rows.map(({ amount }) => amount);
  } finally {
    await pool.end();
  }
}

/** What the bank booked today or yesterday and the restored database does not have. */
async function missingHere(operator: Readonly<Record<string, string>>): Promise<number> {
  const files = [daysAfter(bankToday(), -1), bankToday()].map(async (date) => {
    const file = path.join(base, `${date}.camt053`);
    const args = ['--format', 'camt053', '--date', date, '--file', file];
    await pisJson(['sandbox', 'bank-statement', ...args], bankEnvironment);
    return file;
  });
  const args = (await Promise.all(files)).flatMap((file) => ['--file', file]);
  const { stdout } = await pis(['reconcile', ...args, '--json'], operator);
  return (JSON.parse(stdout) as { missingHere: unknown[] }).missingHere.length;
}
