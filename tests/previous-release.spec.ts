/**
 * During an upgrade the schema is of this release, and processes of the previous one still work: all of them at
 * first, its gateway last. The source of that release comes from the history of the repository. Without history
 * this is skipped.
 */
import { spawnSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { postgresEventStore } from '@pis/event-store';
import {
  createTestDatabase,
  type HttpsReceiver,
  startHttpsReceiver,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import pg from 'pg';
import { Api } from './support/api.js';
import { offlineNpm } from './support/fresh-clone.js';
import { payable } from './support/payable.js';
import {
  pisJson,
  readyLine,
  root,
  type RunningProcess,
  startCommand,
  startProcess,
} from './support/process.js';
import { banksFileOfTheReadme } from './support/readme.js';
import { provision } from './support/systems.js';

/** Set it to the commit of the release before this one when a release is made. */
const previousRelease = '368d6bf5f213';

/** What a payment needs, the gateway last. */
const previousApps = [
  ...['directory-projector', 'payments-projector', 'rail-executor', 'webhook-dispatcher'],
  'api-gateway',
];

/** It builds the apps of that release. */
const startLimitMs = 400_000;
const arrivalLimitMs = 90_000;

const isInHistory =
  spawnSync('git', ['cat-file', '-e', `${previousRelease}^{commit}`], { cwd: root }).status === 0;
if (!isInHistory)
  process.stderr.write(`previous-release: skipped, ${previousRelease} is not in this checkout\n`);

let base: string;
let database: TestDatabase;
let receiver: HttpsReceiver;
let environment: Readonly<Record<string, string>>;
let apiKey: string;
let organizationId: string;
let originatorId: string;
const started: RunningProcess[] = [];
let previousNpm: ReturnType<typeof offlineNpm> | null = null;

(isInHistory ? describe : describe.skip)('the previous release on the schema of this one', () => {
  beforeAll(async () => {
    base = mkdtempSync(path.join(os.tmpdir(), 'pis-previous-'));
    unpackPrevious();
    database = await createTestDatabase();
    receiver = await startHttpsReceiver();
    environment = {
      DATABASE_URL: database.url,
      PIS_MASTER_KEY: randomBytes(32).toString('base64'),
      PIS_DATA_DIR: path.join(base, 'data'),
      PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      PIS_WEBHOOK_CA_FILE: receiver.caFile,
    };
    await pisJson(['migrate'], environment);
    ({ apiKey, organizationId, originatorId } = await provision(environment));
  }, startLimitMs);
  afterEach(async () => {
    await Promise.all(started.splice(0).map((running) => running.stop()));
  }, startLimitMs);
  afterAll(async () => {
    await receiver?.close();
    await database?.drop();
    rmSync(base, { recursive: true, force: true });
  }, startLimitMs);

  it(
    'works as a whole, beside this one, and after a rollback, and nothing is lost or paid twice',
    async () => {
      // The bank comes first: it writes the banks file.
      for (const app of ['bank-simulator', ...previousApps]) await startPrevious(app);
      const older = new Api(String(started.at(-1)?.ready['url']), apiKey);
      const hooks = { url: `${receiver.url}/whole`, subscribedEvents: ['payment.*'] };
      await older.data(201, 'POST', '/v1/webhooks', hooks);
      const payment = await payable(older);
      const paymentIds: string[] = [];
      const pay = async (by: Api, seenBy: Api) => {
        const paymentId = idOf(await by.createPayment(payment, randomUUID()));
        paymentIds.push(paymentId);
        await expectCompleted(seenBy, paymentId);
      };
      await pay(older, older);
      const beside = await startProcess(null, environment);
      started.push(beside);
      const newer = new Api(String(beside.ready['apiUrl']), apiKey);
      const pairs = Array.from({ length: 10 }, () => [pay(older, newer), pay(newer, older)]);
      await Promise.all(pairs.flat());
      await beside.stop();
      await pay(older, older);
      const again = await startProcess(null, environment);
      started.push(again);
      const last = new Api(String(again.ready['apiUrl']), apiKey);
      await pay(last, last);
      expect([...(await listedIds(last))].sort()).toEqual([...paymentIds].sort());
      expect(await executions()).toEqual(paymentIds.map(() => 1));
      await Promise.all(started.splice(0).map((running) => running.stop()));
      const { findings, readModels } = await pisJson<Audit>(['audit', 'verify'], environment);
      expect(findings).toEqual([]);
      expect(readModels.projections.map(({ differences }) => differences)).toEqual(
        readModels.projections.map(() => 0),
      );
    },
    startLimitMs,
  );

  it(
    'serves as a gateway beside the workers and a gateway of this release',
    async () => {
      const workers = await startProcess(null, environment);
      started.push(workers);
      const previous = await startPrevious('api-gateway');
      const older = new Api(String(previous.ready['url']), apiKey);
      const newer = new Api(String(workers.ready['apiUrl']), apiKey);
      const hooks = { url: `${receiver.url}/gateway`, subscribedEvents: ['payment.*'] };
      await older.data(201, 'POST', '/v1/webhooks', hooks);
      const payment = await payable(older);
      for (const [by, other] of [
        [older, newer],
        [newer, older],
      ] as const) {
        const key = randomUUID();
        const paymentId = idOf(await by.createPayment(payment, key));
        // The same request at the other gateway is the same payment.
        expect(idOf(await other.createPayment(payment, key))).toBe(paymentId);
        await expectCompleted(other, paymentId);
        const lists = await Promise.all([older, newer].map(listedIds));
        expect(lists.map((ids) => ids.includes(paymentId))).toEqual([true, true]);
      }
    },
    startLimitMs,
  );

  // The last one: these statements have no documents.
  it(
    'passes over statements, and this one makes up for them, as often as it is rolled back',
    async () => {
      const hooks = {
        url: `${receiver.url}/statements`,
        subscribedEvents: ['statement.generated'],
      };
      const first = await startProcess(null, environment);
      const api = new Api(String(first.ready['apiUrl']), apiKey);
      await api.data(201, 'POST', '/v1/webhooks', hooks);
      await first.stop();
      for (const periodMonth of [8, 9]) {
        for (const app of ['bank-simulator', ...previousApps]) await startPrevious(app);
        const older = new Api(String(started.at(-1)?.ready['url']), apiKey);
        const statementId = await generateStatement(periodMonth);
        // Readers of the previous release follow what this makes: then their checkpoints are past the statement.
        idOf(await older.createPayment(await payable(older), randomUUID()));
        await until(() => arePast(statementId), { timeoutMs: arrivalLimitMs });
        await Promise.all(started.splice(0).map((running) => running.stop()));

        const again = await startProcess(null, environment);
        started.push(again);
        const newer = new Api(String(again.ready['apiUrl']), apiKey);
        await receiver.waitFor(({ body }) => body.includes(statementId), {
          timeoutMs: arrivalLimitMs,
        });
        const statements = await newer.data(200, 'GET', '/v1/statements');
        expect(JSON.stringify(statements)).toContain(statementId);
        const events = await newer.data(200, 'GET', '/v1/events?eventType=statement.generated');
        expect(JSON.stringify(events)).toContain(statementId);
        await Promise.all(started.splice(0).map((running) => running.stop()));
      }
    },
    2 * startLimitMs,
  );
});

async function withPool<Result>(use: (pool: pg.Pool) => Promise<Result>): Promise<Result> {
  const pool = new pg.Pool({ connectionString: database.url });
  try {
    return await use(pool);
  } finally {
    await pool.end();
  }
}

/** As statement-generator records it. */
async function generateStatement(periodMonth: number): Promise<string> {
  const statementId = randomUUID();
  const data = {
    ...{ statementId, organizationId, originatorId, periodYear: 2025, periodMonth },
    ...{ sizeBytes: 4, sha256: 'a'.repeat(64) },
  };
  const metadata = {
    ...{ at: new Date().toISOString(), schemaVersion: 1, actor: 'system:test', requestId: null },
    ...{ correlationId: randomUUID(), causationId: null, traceparent: null, previousHash: null },
  };
  await withPool(async (pool) => {
    const store = postgresEventStore({ pool });
    const event = { id: randomUUID(), type: 'StatementGenerated', data, metadata };
    await store.append(`statement-${statementId}`, 'noStream', [event]);
    await store.close();
  });
  return statementId;
}

/** Whether everyone who follows statements has passed this one. */
function arePast(statementId: string): Promise<boolean> {
  return withPool(async (pool) => {
    const { rows } = await pool.query<{ past: boolean }>(
      `SELECT bool_and(position > lpad(event.at, 20, '0')) AS past
         FROM (SELECT position::text AS at FROM events WHERE stream_id = $1) event,
              (SELECT position FROM projection_checkpoints WHERE name IN ('directory', 'events')
               UNION ALL
               SELECT position FROM consumer_checkpoints WHERE consumer_group = 'webhook-dispatcher') reader`,
      [`statement-${statementId}`],
    );
    return rows[0]?.past === true;
  });
}

interface Audit {
  readonly findings: readonly unknown[];
  readonly readModels: { readonly projections: readonly { readonly differences: number }[] };
}

/** How often the bank has executed each transfer. */
async function executions(): Promise<readonly number[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    const { rows } = await client.query<{ n: number }>(
      "SELECT count(*)::int AS n FROM bank_executions WHERE state = 'executed' GROUP BY reference",
    );
    return rows.map(({ n }) => n);
  } finally {
    await client.end();
  }
}

async function expectCompleted(api: Api, paymentId: string): Promise<void> {
  await until(async () => (await statusOf(api, paymentId)) === 'COMPLETED', {
    ...{ timeoutMs: arrivalLimitMs, what: 'a completed payment' },
  });
  const isTold = (body: string) => body.includes('payment.completed') && body.includes(paymentId);
  await receiver.waitFor(({ body }) => isTold(body), { timeoutMs: arrivalLimitMs });
}

function unpackPrevious(): void {
  const folder = path.join(base, 'previous');
  mkdirSync(folder);
  const script = 'git archive "$1" | tar -x -C "$2"';
  const { status, stderr } = spawnSync('sh', ['-c', script, 'sh', previousRelease, folder], {
    cwd: root,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`git archive: ${stderr}`);
}

/** An app of the previous release, which it builds with the packages of this checkout. */
async function startPrevious(app: string): Promise<RunningProcess> {
  const folder = path.join(base, 'previous');
  const npm = (previousNpm ??= offlineNpm(path.join(base, 'bin'), folder));
  const banks = { PIS_BANKS_FILE: banksFileOfTheReadme(environment['PIS_DATA_DIR'] ?? '') };
  const running = await startCommand(process.execPath, ['tools/start.mjs', app], {
    ...{ env: { ...environment, ...banks, PATH: npm.path }, cwd: folder, readyLine },
  });
  started.push(running);
  return running;
}

function idOf({ status, body }: Awaited<ReturnType<Api['createPayment']>>): string {
  expect(status).toBe(201);
  return (body.data as { paymentId: string }).paymentId;
}

async function statusOf(api: Api, paymentId: string): Promise<string> {
  return (await api.data<{ status: string }>(200, 'GET', `/v1/payments/${paymentId}`)).status;
}

async function listedIds(api: Api): Promise<readonly string[]> {
  const payments = await api.data<{ paymentId: string }[]>(200, 'GET', '/v1/payments/?limit=100');
  return payments.map(({ paymentId }) => paymentId);
}
