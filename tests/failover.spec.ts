/**
 * PostgreSQL fails over to a replica that lagged behind, while the system runs: payments take the places in the log of those
 * that the replica lacks. Each of them is executed, told and listed, without a restart.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { startPostgres } from '@pis/local-servers';
import {
  type HttpsReceiver,
  openTestPool,
  startHttpsReceiver,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { Api } from './support/api.js';
import { payable } from './support/payable.js';
import { baseBackup, writeInCluster } from './support/postgres-copies.js';
import { pisJson, startProcess } from './support/process.js';
import { listed } from './support/rails-chaos-auditor.js';
import { startedWhole, type Undo } from './support/undo.js';

const startLimitMs = 240_000;
const testLimitMs = 300_000;
const arrivalLimitMs = 90_000;
const lostPayments = 3;
const newPayments = 12;

let system: Awaited<ReturnType<typeof start>> & { stop(): Promise<void> };
beforeAll(async () => {
  system = await startedWhole(start);
}, startLimitMs);
afterAll(() => system?.stop(), startLimitMs);

async function start(undo: Undo) {
  const base = mkdtempSync(path.join(os.tmpdir(), 'pis-failover-'));
  undo.push(() => rmSync(base, { recursive: true, force: true }));
  // The server may run as another user.
  chmodSync(base, 0o755);
  const primary = await startPostgres({ dataDir: path.join(base, 'primary'), database: 'pis' });
  undo.push(() => primary.stop());
  const toServer = await startLine(primary.port);
  undo.push(() => toServer.close());
  const receiver = await startHttpsReceiver();
  undo.push(() => receiver.close());
  const url = new URL(primary.url);
  url.port = String(toServer.port);
  const environment = {
    DATABASE_URL: url.href,
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    PIS_DATA_DIR: path.join(base, 'data'),
    PIS_RATE_LIMIT_PER_KEY: '0',
    PIS_DEMO_PAYMENTS: 'false',
    // On a busy machine the bank answers later than in the normal time of the sandbox.
    PIS_RAIL_CONFIRMATION_TIMEOUT_MS: '120000',
    PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    PIS_WEBHOOK_CA_FILE: receiver.caFile,
  };
  const app = await startProcess(null, environment);
  undo.push(() => app.stop());
  return { base, primary, toServer, receiver, environment, app };
}

it(
  'every payment that takes the place of a lost one is executed, told and listed by a system that was not restarted',
  async () => {
    const { primary, toServer, app, receiver } = system;
    const api = new Api(String(app.ready['apiUrl']), String(app.ready['apiKey']));
    const told = webhooksOf(receiver);
    await api.data(201, 'POST', '/v1/webhooks', hooksOf(receiver));
    const payment = await payable(api);
    const kept = await created(api, payment, 1);
    await untilTold(told, kept);

    const replica = await startReplica();
    try {
      await replica.untilCaughtUp();
      await replica.disconnect();
      const lost = await created(api, payment, lostPayments);
      await untilTold(told, lost);

      process.kill(primary.pid, 'SIGKILL');
      await replica.promote();
      toServer.passTo(replica.port);
      const news = await created(api, payment, newPayments);
      // The executors have asked a moment ago whether they may send, and the old server let them.
      expect(await statusesOf(api, news)).toEqual(new Set(['QUEUED']));
      await resumeBanks();
      await untilTold(told, news);
      const ids = (await listed(api)).map(({ paymentId }) => paymentId);
      expect(ids.toSorted()).toEqual([...kept, ...news].toSorted());
      expect(await statusesOf(api, news)).toEqual(new Set(['COMPLETED']));
      expect(app.stderr()).toContain('has lost the event at');
      expect(app.child.exitCode).toBeNull();
    } finally {
      // While the system still needs it.
      await app.stop();
      await replica.stop();
    }
  },
  testLimitMs,
);

const hooksOf = ({ url }: HttpsReceiver) => ({
  url: `${url}/hooks`,
  subscribedEvents: ['payment.*'],
});

/** All at once. Each is repeated until it is accepted. */
async function created(
  api: Api,
  payment: Readonly<Record<string, unknown>>,
  count: number,
): Promise<string[]> {
  const made = Array.from({ length: count }, async () => {
    const key = randomUUID();
    const { body } = await until(
      async () => {
        const answer = await api.createPayment(payment, key).catch(() => null);
        return answer?.status === 201 && answer;
      },
      { timeoutMs: arrivalLimitMs, what: 'an accepted payment' },
    );
    return (body.data as { paymentId: string }).paymentId;
  });
  return Promise.all(made);
}

async function statusesOf(api: Api, paymentIds: readonly string[]): Promise<ReadonlySet<string>> {
  const statuses = new Set<string>();
  for (const paymentId of paymentIds) {
    const { status } = await api.data<{ readonly status: string }>(
      ...([200, 'GET', `/v1/payments/${paymentId}`] as const),
    );
    statuses.add(status);
  }
  return statuses;
}

const life = ['payment.completed', 'payment.processing', 'payment.queued'];

/** The types of the events that arrive from now on, by payment. */
function webhooksOf(receiver: HttpsReceiver): ReadonlyMap<string, readonly string[]> {
  const ids = new Set<string>();
  const told = new Map<string, string[]>();
  receiver.respondWith(({ body }) => {
    const { id, eventType, data } = JSON.parse(body) as {
      readonly id: string;
      readonly eventType: string;
      readonly data: { readonly paymentId: string };
    };
    if (!ids.has(id)) told.set(data.paymentId, [...(told.get(data.paymentId) ?? []), eventType]);
    ids.add(id);
    return {};
  });
  return told;
}

/** Each payment has been told its whole life, and nothing else. */
async function untilTold(
  told: ReadonlyMap<string, readonly string[]>,
  paymentIds: readonly string[],
): Promise<void> {
  const wanted = Object.fromEntries(paymentIds.map((paymentId) => [paymentId, life]));
  const found = () =>
    Object.fromEntries(paymentIds.map((id) => [id, (told.get(id) ?? []).toSorted()]));
  await until(() => Object.values(found()).flat().length >= life.length * paymentIds.length, {
    timeoutMs: arrivalLimitMs,
  }).catch(() => undefined);
  expect(found()).toEqual(wanted);
}

/** A failover pauses them: the replica may lack what was sent. */
async function resumeBanks(): Promise<void> {
  const { environment } = system;
  const { data: connections } = await pisJson<{
    readonly data: readonly { readonly connection: string }[];
  }>(['rails', 'connections'], environment);
  for (const { connection } of connections)
    await pisJson(
      ['rails', 'resume', '--connection', connection, '--reason', 'compared with its file'],
      environment,
    );
}

/** It streams from the primary until it is disconnected. */
async function startReplica() {
  const { base, primary } = system;
  const dataDir = path.join(base, 'replica');
  const source = await startLine(primary.port);
  await baseBackup(primary, dataDir);
  writeInCluster(dataDir, 'standby.signal', '');
  const { username, password } = new URL(primary.url);
  const conninfo = `host=127.0.0.1 port=${source.port} user=${username} password=${password}`;
  const server = await startPostgres({
    dataDir,
    database: 'pis',
    settings: [`primary_conninfo=${conninfo}`],
  });
  const [here, there] = [openTestPool(server.url, 1), openTestPool(primary.url, 1)];
  return {
    port: server.port,
    untilCaughtUp: async () => {
      const end = await one(there, 'SELECT pg_current_wal_flush_lsn()::text AS value');
      await until(
        async () =>
          (await one(here, `SELECT (pg_last_wal_replay_lsn() >= '${end}')::text AS value`)) ===
          'true',
        { timeoutMs: arrivalLimitMs, what: 'the replica to catch up' },
      );
    },
    disconnect: async () => {
      await there.end();
      await source.close();
    },
    promote: async () => {
      expect(await one(here, 'SELECT pg_promote()::text AS value')).toBe('true');
    },
    stop: async () => {
      await here.end();
      await server.stop();
    },
  };
}

async function one(pool: pg.Pool, sql: string): Promise<string> {
  const { rows } = await pool.query<{ value: string }>(sql);
  return rows[0]?.value ?? '';
}

/** A TCP line to a server, as a proxy or a name in DNS is one. */
async function startLine(firstPort: number) {
  let target = firstPort;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect({ host: '127.0.0.1', port: target });
    const both = [client, upstream];
    for (const socket of both) {
      sockets.add(socket);
      // The close that follows says it all.
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        for (const end of both) end.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    passTo: (port: number) => {
      target = port;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
