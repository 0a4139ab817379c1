/** The effect of a rebuild on the projector and the readers, however long its copy takes. */
import { type EventStore, memoryEventStore, StoreUnavailable } from '@pis/event-store';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import pg from 'pg';
import { paymentsProjection } from './payments.projection.js';
import { ProjectionRunner } from './projection-runner.js';
import type { Projection, ReadTable } from './projection.js';
import { gapEventsMax, rebuild, type RebuildPhase, rebuildProjection } from './rebuild.js';
import { queuePayment } from './testing.js';

const at = '2026-11-21T09:00:00.000Z';
const timeoutMs = 30_000;

let database: TestDatabase;
let store: EventStore;
let pool: pg.Pool;
let runner: ProjectionRunner;
beforeEach(async () => {
  database = await createTestDatabase();
  store = memoryEventStore();
  pool = openTestPool(database.url, 8);
  runner = new ProjectionRunner({ projection: paymentsProjection, store, pool });
});
afterEach(async () => {
  await runner.stop();
  await pool.end();
  await database.drop();
});

async function appendPayments(count: number): Promise<void> {
  for (let index = 0; index < count; index++) await queuePayment(store, at);
}

async function caughtUp(): Promise<void> {
  expect(await runner.waitFor(await store.lastPosition(), timeoutMs)).toBe(true);
}

const count = async (table: string) =>
  (await pool.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${table}`)).rows[0]
    ?.count;

/** Calls `hook` before each write to the shadow table, on the connection that writes. */
function hooked(
  hook: (client: pg.ClientBase, events: number, write: number) => Promise<void>,
): Projection {
  let writes = 0;
  const tables = paymentsProjection.tables.map(
    (table): ReadTable => ({
      name: table.name,
      async write(client, target, events) {
        if (target !== table.name) await hook(client, events.length, ++writes);
        await table.write(client, target, events);
      },
    }),
  );
  return { ...paymentsProjection, tables };
}

/** Whether this connection has locked the checkpoint, which stops the projector. */
async function holdsProjector(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ held: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_locks WHERE pid = pg_backend_pid() AND mode = 'RowShareLock'
       AND relation = 'projection_checkpoints'::regclass) AS held`,
  );
  return rows[0]?.held === true;
}

describe('a rebuild beside a running projector', () => {
  it('catches up in rounds, and applies few events while the projector is stopped', async () => {
    runner.start();
    await appendPayments(2_500);
    const arriving = [2_000, 1_200, 600, 300, 100, 30];
    const phases = new Set<RebuildPhase>();
    let whileHeld = 0;
    const busy = hooked(async (client, events) => {
      if (await holdsProjector(client)) {
        whileHeld += events;
        return;
      }
      // The longer a copy takes, the more events arrive during it.
      await appendPayments(arriving.shift() ?? 0);
      await caughtUp();
    });
    const { eventsRead } = await rebuild(busy, {
      store,
      pool,
      onProgress: ({ phase }) => phases.add(phase),
    });
    expect(eventsRead).toBe(6_730);
    expect(whileHeld).toBeLessThanOrEqual(gapEventsMax);
    expect([...phases]).toEqual(['copy', 'vacuum', 'catch up', 'swap']);
    await appendPayments(3);
    await caughtUp();
    expect(await count('payments')).toBe(6_733);
  });

  it('lets the projector continue while a reader locks the tables, and swaps them after that', async () => {
    runner.start();
    await appendPayments(3);
    await caughtUp();
    const reader = new pg.Client({ connectionString: database.url });
    await reader.connect();
    try {
      await reader.query('BEGIN');
      await reader.query('SELECT count(*) FROM payments');
      const oid = (await reader.query<{ oid: number }>("SELECT 'payments'::regclass::oid AS oid"))
        .rows[0]?.oid;
      let swaps = 0;
      const rebuilding = rebuildProjection('payments', {
        store,
        pool,
        onProgress: ({ phase }) => (swaps += phase === 'swap' ? 1 : 0),
      });
      for (const tries of [1, 2, 3]) {
        await until(() => swaps > tries, { timeoutMs });
        await appendPayments(1);
        await caughtUp();
      }
      await reader.query('COMMIT');
      expect((await rebuilding).eventsRead).toBeGreaterThanOrEqual(6);
      const { rows } = await pool.query<{ oid: number }>("SELECT 'payments'::regclass::oid AS oid");
      expect(rows[0]?.oid).not.toBe(oid);
      expect(await count('payments')).toBe(6);
    } finally {
      await reader.end();
    }
  });

  it('waits for an unavailable event store, also in the middle', async () => {
    await appendPayments(2_500);
    let failures = 2;
    const readLog: EventStore['readLog'] = (options) => {
      if (options.after === '' || failures === 0) return store.readLog(options);
      failures -= 1;
      return Promise.reject(new StoreUnavailable('away'));
    };
    const { eventsRead } = await rebuildProjection('payments', {
      store: { ...store, readLog },
      pool,
    });
    expect({ eventsRead, failures }).toEqual({ eventsRead: 2_500, failures: 0 });
  });
});

it('has no statement timeout, whatever the settings of the pool, the user and the database', async () => {
  await appendPayments(1);
  const name = new URL(database.url).pathname.slice(1);
  await pool.query(`ALTER DATABASE ${name} SET statement_timeout = '10s'`);
  const limited = new pg.Pool({
    connectionString: database.url,
    statement_timeout: 10_000,
    query_timeout: 10_000,
    max: 1,
  });
  try {
    // The pool's only connection is in use: the rebuild has one of its own.
    const taken = await limited.connect();
    const seen: unknown[] = [];
    const looking = hooked(async (client) => {
      const { rows } = await client.query<object>('SHOW statement_timeout');
      const { connectionParameters } = client as unknown as {
        connectionParameters: { query_timeout: unknown };
      };
      seen.push(rows[0], Number(connectionParameters.query_timeout));
    });
    await rebuild(looking, { store, pool: limited }).finally(() => taken.release());
    expect(seen).toEqual([{ statement_timeout: '0' }, 0]);
  } finally {
    await limited.end();
  }
});
