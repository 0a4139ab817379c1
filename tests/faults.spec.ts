/**
 * `npm start` under faults: bad input at boot, PostgreSQL dying, and the whole machine dying. No answered
 * request is lost, and no process is left behind.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import os from 'node:os';
import path from 'node:path';
import { connectionOf, freePort, startPostgres } from '@pis/local-servers';
import { until } from '@pis/local-servers/testing';
import pg from 'pg';
import { Api } from './support/api.js';
import { payable } from './support/payable.js';
import { pisJson, run, type RunningProcess, startProcess } from './support/process.js';
import { processesOf } from './support/processes.js';

const startLimitMs = 240_000;
const recoveryLimitMs = 60_000;
const goneLimitMs = 10_000;

let base: string;
let dataDir: string;
const started: RunningProcess[] = [];

beforeEach(() => {
  base = mkdtempSync(path.join(os.tmpdir(), 'pis-faults-'));
  dataDir = path.join(base, 'data');
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((running) => running.stop()));
  rmSync(base, { recursive: true, force: true });
}, startLimitMs);

async function start(env: Readonly<Record<string, string>> = {}): Promise<RunningProcess> {
  // This spec sends bursts and polls. The limit per key has its own tests.
  const running = await startProcess(null, {
    PIS_DATA_DIR: dataDir,
    PIS_RATE_LIMIT_PER_KEY: '0',
    ...env,
  });
  started.push(running);
  return running;
}

/** A process that has ended may remain in the process table for a moment. */
async function nothingStays(): Promise<void> {
  await until(() => processesOf(base).length === 0, { timeoutMs: goneLimitMs }).catch(() =>
    expect(processesOf(base)).toEqual([]),
  );
}

function apiOf(running: RunningProcess, apiKey?: string): Api {
  return new Api(String(running.ready['apiUrl']), apiKey ?? String(running.ready['apiKey']));
}

it(
  'a kill -9 of the whole tree during a burst of creates loses nothing that was answered, and sends nothing twice',
  async () => {
    const running = await start();
    const apiKey = String(running.ready['apiKey']);
    const api = apiOf(running);
    const payment = await payable(api);
    const answered = new Set<string>();
    const sent: string[] = [];
    const burst = Array.from({ length: 16 }, async () => {
      for (;;) {
        const key = randomUUID();
        sent.push(key);
        const response = await api.createPayment(payment, key).catch(() => null);
        if (response === null) return;
        if (response.status === 201) answered.add(key);
      }
    });
    await until(() => answered.size >= 200, { timeoutMs: recoveryLimitMs });
    await running.kill();
    await Promise.all(burst);
    started.splice(0);

    const again = await start();
    expect(again.ready['apiKey']).toBeNull();
    const after = apiOf(again, apiKey);
    // The same requests again: answered ones replay. Interrupted ones are created now or replay.
    const paymentIds = new Map<string, string>();
    for (const key of sent) {
      const response = await after.createPayment(payment, key);
      expect(response.status).toBe(201);
      if (answered.has(key)) expect(response.headers.get('idempotent-replayed')).toBe('true');
      paymentIds.set(key, (response.body.data as { paymentId: string }).paymentId);
    }
    expect(new Set(paymentIds.values()).size).toBe(sent.length);
    const unfinished = () =>
      query<{ payment_id: string; status: string }>(
        "SELECT payment_id, status FROM payments WHERE status <> 'COMPLETED' ORDER BY payment_id",
      );
    await until(async () => (await unfinished()).length === 0, {
      timeoutMs: recoveryLimitMs,
    }).catch(async (error: unknown) => {
      throw new Error(`not COMPLETED: ${JSON.stringify(await unfinished())}`, { cause: error });
    });

    const transfers = await query<{ executions: number; transfers: number }>(
      'SELECT count(*)::int AS executions, count(DISTINCT reference)::int AS transfers FROM bank_executions',
    );
    expect(transfers).toEqual([{ executions: sent.length, transfers: sent.length }]);
  },
  startLimitMs,
);

it(
  'the ready line has only working pages, and neither SIGTERM nor SIGKILL of the launcher leaves a process behind',
  async () => {
    const running = await start();
    const { docsUrl, dashboardUrl } = running.ready;
    const pages = [docsUrl, ...(dashboardUrl === undefined ? [] : [dashboardUrl])].map(String);
    for (const page of pages) expect([page, (await fetch(page)).status]).toEqual([page, 200]);
    expect(await running.stop()).toBe(0);
    await nothingStays();
    // Only the ready line goes to stdout. Logs go to stderr.
    expect(running.stdout()).toBe(JSON.stringify(running.ready));
    expect(running.stderr()).toContain('"level"');

    const second = await start();
    second.child.kill('SIGKILL');
    await until(() => processesOf(base).length === 0, { timeoutMs: recoveryLimitMs });
    started.splice(0);
  },
  startLimitMs,
);

it(
  'while the embedded PostgreSQL is dead, requests get 503 with the envelope, and succeed after its restart',
  async () => {
    const running = await start();
    const api = apiOf(running);
    const payment = await payable(api);
    const postmaster = () =>
      Number(
        readFileSync(path.join(dataDir, 'postgres/cluster/postmaster.pid'), 'utf8').split('\n')[0],
      );
    const killed = postmaster();
    process.kill(killed, 'SIGKILL');
    const statuses = new Set<number>();
    await until(
      async () => {
        const response = await api.createPayment(payment, randomUUID());
        statuses.add(response.status);
        if (response.status === 503) {
          expect(response.body.error?.code).toBe('SERVICE_UNAVAILABLE');
          expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
        }
        return response.status === 201 && statuses.has(503);
      },
      { timeoutMs: recoveryLimitMs },
    );
    expect([...statuses].sort()).toEqual([201, 503]);
    expect(postmaster()).not.toBe(killed);
    await until(
      async () => (await fetch(`${String(running.ready['apiUrl'])}/health/ready`)).status === 200,
      { timeoutMs: recoveryLimitMs },
    );
  },
  startLimitMs,
);

it(
  'a second start on the same data directory is refused and does not disturb the first',
  async () => {
    const running = await start();
    const second = await run(['tools/start.mjs'], { PORT: '0', PIS_DATA_DIR: dataDir });
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(/in use by process \d+/);
    await apiOf(running).data(200, 'GET', '/v1/originators/');
  },
  startLimitMs,
);

it(
  'a port in use is reported clearly with exit code 1, and the embedded PostgreSQL is stopped',
  async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const result = await run(['tools/start.mjs'], { PORT: String(port), PIS_DATA_DIR: dataDir });
    server.close();
    expect(result.code).toBe(1);
    expect(result.stderr).toBe(
      `bad configuration:\n  PORT: port ${port} is in use (EADDRINUSE): stop the program that listens there, or set PORT to another port\n`,
    );
    await nothingStays();
  },
  startLimitMs,
);

it(
  'files that cannot be read are reported clearly with exit code 1, also two at once',
  async () => {
    const result = await run(['tools/start.mjs'], {
      PORT: '0',
      PIS_DATA_DIR: dataDir,
      PIS_MASTER_KEY_FILE: path.join(base, 'no-key'),
      PIS_WEBHOOK_CA_FILE: path.join(base, 'no-certificate'),
    });
    expect(result.code).toBe(1);
    expect(result.stderr).toMatch(/^bad configuration:\n {2}PIS_WEBHOOK_CA_FILE: ENOENT[^\n]*\n$/);
    await nothingStays();
  },
  startLimitMs,
);

it(
  'an app whose file of the banks cannot be read says so once, with exit code 1',
  async () => {
    const result = await run(['tools/start.mjs', 'api-gateway'], {
      PORT: '0',
      DATABASE_URL: 'postgres://127.0.0.1:1/pis',
      PIS_DATA_DIR: dataDir,
      PIS_BANKS_FILE: path.join(base, 'no-banks.yaml'),
    });
    expect(result.code).toBe(1);
    expect(result.stderr).toMatch(
      /^bad configuration:\n {2}PIS_BANKS_FILE: cannot be read: ENOENT[^\n]*\n$/,
    );
  },
  startLimitMs,
);

it(
  'a data directory without write access is reported clearly with exit code 1',
  async () => {
    mkdirSync(base, { recursive: true });
    const file = path.join(base, 'a-file');
    writeFileSync(file, '');
    const result = await run(['tools/start.mjs'], { PORT: '0', PIS_DATA_DIR: `${file}/data` });
    expect(result.code).toBe(1);
    expect(result.stderr).toContain(file);
  },
  startLimitMs,
);

it(
  'bad configuration is one message that names every bad variable, exit code 1',
  async () => {
    const result = await run(['tools/start.mjs'], {
      PORT: 'http',
      PIS_ENVIRONMENT: 'moon',
      PIS_BROKER: 'kafka',
      PIS_WEBHOOK_ALLOWED_NETWORKS: '10.0.0.0/99',
      PIS_MASTER_KEY: 'short',
      PIS_DATA_DIR: dataDir,
    });
    expect(result.code).toBe(1);
    for (const variable of [
      'PORT',
      'PIS_ENVIRONMENT',
      'KAFKA_BROKERS',
      'PIS_WEBHOOK_ALLOWED_NETWORKS',
      'PIS_MASTER_KEY',
    ])
      expect(result.stderr).toContain(`${variable}:`);
  },
  startLimitMs,
);

it(
  'an app without its database serves its health, names the database as missing, and becomes ready when it exists',
  async () => {
    const postgresAt = { dataDir: path.join(base, 'postgres'), database: 'pis' };
    // Started once before, to know the address that it will have again.
    let postgres = await startPostgres(postgresAt);
    const { url: DATABASE_URL, port: postgresPort } = postgres;
    await postgres.stop();

    const port = await freePort();
    const starting = startProcess('payments-projector', {
      DATABASE_URL,
      PORT: String(port),
      PIS_DATA_DIR: dataDir,
    });
    let isReady = false;
    const ready = starting.then((running) => {
      started.push(running);
      isReady = true;
      return running;
    });
    const health = async () => {
      const response = await fetch(`http://127.0.0.1:${port}/health/ready`);
      return { code: response.status, text: await response.text() };
    };
    const waiting = await until(health, { timeoutMs: recoveryLimitMs });
    expect(waiting.code).toBe(503);
    expect(waiting.text).toMatch(/"postgres":\{"status":"down","reason":"[^"]*ECONNREFUSED/);

    postgres = await startPostgres({ ...postgresAt, port: postgresPort });
    try {
      await until(async () => (await health()).text.includes('"postgres":{"status":"up"}'), {
        timeoutMs: recoveryLimitMs,
      });
      // An empty server is not yet what the app needs.
      expect(isReady).toBe(false);
      await pisJson(['migrate'], { DATABASE_URL });
      const running = await ready;
      expect(running.ready).toEqual({
        ready: true,
        app: 'payments-projector',
        url: `http://127.0.0.1:${port}`,
      });
      await until(async () => (await health()).code === 200, { timeoutMs: recoveryLimitMs });
      expect(await running.stop()).toBe(0);
    } finally {
      await postgres.stop();
    }
  },
  startLimitMs,
);

it.each([
  ['an app', 'payments-projector'],
  ['all in one', null],
])(
  '%s that gets SIGTERM while it waits for its database ends with code 0',
  async (_what, app) => {
    const port = String(await freePort());
    const starting = startProcess(app, {
      DATABASE_URL: 'postgresql://postgres@127.0.0.1:1/none',
      PORT: port,
      PIS_DATA_DIR: dataDir,
    });
    const ended = expect(starting).rejects.toThrow(/exited with 0 before it was ready/);
    await until(() => fetch(`http://127.0.0.1:${port}/health/live`), {
      timeoutMs: recoveryLimitMs,
    });
    const [launcher] = processesOf(dataDir).filter((line) => line.includes('tools/start.mjs'));
    process.kill(Number(launcher?.split(' ')[0]), 'SIGTERM');
    await ended;
    await nothingStays();
  },
  startLimitMs,
);

async function query<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> {
  const connectionString = connectionOf(path.join(dataDir, 'postgres'), 'pis') ?? '';
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}
