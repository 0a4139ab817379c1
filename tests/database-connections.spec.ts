/** The connections to PostgreSQL of all processes, and a pooler in front of it. */
import { randomBytes, randomUUID } from 'node:crypto';
import { createTestDatabase } from '@pis/local-servers/testing';
import { until } from '@pis/local-servers/testing';
import { Api } from './support/api.js';
import { withClient } from './support/passing-rows.js';
import { payable } from './support/payable.js';
import { hasPgBouncer, startPgBouncer } from './support/pgbouncer.js';
import { pisJson, startProcess } from './support/process.js';
import { distributedOnPostgres } from './support/systems.js';

const startLimitMs = 300_000;
const workLimitMs = 120_000;
/** The least that payments-projector accepts, and less than the default. */
const connectionsMax = 15;
const paymentsAtOnce = 60;

const clients = `SELECT substring(application_name from '^pis-(.+?)(-events|-sessions)?$') AS app, count(*)::int
  FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'pis-%' GROUP BY 1`;

/** Counts while `work` runs, and returns the most of each app. */
async function mostWhile(
  databaseUrl: string,
  work: Promise<unknown>,
): Promise<Map<string, number>> {
  const most = new Map<string, number>();
  let isDone = false;
  const done = work.finally(() => (isDone = true));
  await withClient(databaseUrl, async (client) => {
    for (let isLast = false; !isLast; ) {
      isLast = isDone;
      const { rows } = await client.query<{ app: string; count: number }>(clients);
      for (const { app, count } of rows) most.set(app, Math.max(count, most.get(app) ?? 0));
    }
  });
  await done;
  return most;
}

/** Creates payments at the same time, and waits until the bank has them. */
async function pay(api: Api): Promise<void> {
  const payment = await payable(api);
  const created = await Promise.all(
    Array.from({ length: paymentsAtOnce }, () => api.createPayment(payment, randomUUID())),
  );
  expect(created.map(({ status }) => status)).toEqual(Array(paymentsAtOnce).fill(201));
  const completed = '/v1/payments/?status=COMPLETED&limit=100';
  await until(
    async () =>
      (await api.data<unknown[]>(200, 'GET', completed)).length === paymentsAtOnce ||
      Promise.reject(new Error('not all payments are completed')),
    { timeoutMs: workLimitMs },
  );
}

it(
  'no process opens more connections to PostgreSQL than PIS_DATABASE_POOL',
  async () => {
    const system = await distributedOnPostgres({
      PIS_DATABASE_POOL: String(connectionsMax),
      PIS_RATE_LIMIT_PER_KEY: '0',
    });
    try {
      const work = pay(new Api(system.apiUrl, system.apiKey));
      const most = await mostWhile(system.databaseUrl, work);
      const { length: processes } = system.urls;
      // At most one connection of each process waits for notifications. These have a name of their own.
      expect(most.get('event-listener')).toBeLessThanOrEqual(processes);
      most.delete('event-listener');
      expect(most.size).toBe(processes);
      for (const [app, count] of most)
        expect({ app, count, isWithin: count <= connectionsMax - 1 }).toEqual({
          app,
          count,
          isWithin: true,
        });
      // Locks of its four projections, which a process holds all the time.
      expect(most.get('payments-projector')).toBeGreaterThanOrEqual(5);
    } finally {
      await system.stop();
    }
  },
  startLimitMs,
);

const title = `everything works behind PgBouncer in transaction mode, with DATABASE_DIRECT_URL${
  hasPgBouncer ? '' : ' (skipped: pgbouncer is not on the PATH)'
}`;
(hasPgBouncer ? it : it.skip)(
  title,
  async () => {
    const database = await createTestDatabase();
    const pooler = await startPgBouncer(database.url);
    const apiKey = `pis_test_${randomBytes(24).toString('base64url')}`;
    const environment = {
      DATABASE_URL: pooler.url,
      DATABASE_DIRECT_URL: database.url,
      PIS_MASTER_KEY: randomBytes(32).toString('base64'),
      PIS_BOOTSTRAP_API_KEY: apiKey,
      PIS_RATE_LIMIT_PER_KEY: '1000',
      PIS_RATE_LIMIT_STORE: 'postgres',
    };
    const stops: (() => Promise<unknown>)[] = [() => database.drop(), () => pooler.stop()];
    try {
      const running = await startProcess(null, environment);
      stops.push(() => running.stop());
      await pay(new Api(String(running.ready['apiUrl']), apiKey));
      await pisJson(['projections', 'rebuild'], environment);
      expect(running.stderr()).not.toContain('prepared statement');
    } finally {
      for (const stop of stops.reverse()) await stop();
    }
  },
  startLimitMs,
);
