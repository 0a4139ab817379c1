/** The effect of a rebuild on the projector and the readers, however long its copy takes. */
import { randomUUID } from 'node:crypto';
import { contactExample } from '@pis/domain/testing';
import { type EventStore, StoreUnavailable } from '@pis/event-store';
import { until } from '@pis/local-servers/testing';
import pg from 'pg';
import { compareReadModels } from './comparison.js';
import { projections } from './projections.js';
import { ProjectionRunner } from './projection-runner.js';
import { gapEventsMax, rebuild, type RebuildPhase, rebuildProjection } from './rebuild.js';
import { appendEvents, queuePayment } from './testing.js';
import { hooked, rebuildScene, type RebuildScene } from './testing/rebuild-scene.js';

const at = '2026-11-21T09:00:00.000Z';
const timeoutMs = 30_000;

let scene: RebuildScene;
beforeEach(async () => {
  scene = await rebuildScene();
});
afterEach(() => scene.close());

async function appendPayments(count: number): Promise<void> {
  for (let index = 0; index < count; index++) await queuePayment(scene.store, at);
}

const count = async (table: string) =>
  (await scene.pool.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${table}`)).rows[0]
    ?.count;

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
    scene.runner.start();
    await appendPayments(2_500);
    const arriving = [2_000, 1_200, 600, 300, 100, 30];
    const phases = new Set<RebuildPhase>();
    let whileHeld = 0;
    const busy = hooked(async ({ client, events }) => {
      if (await holdsProjector(client)) {
        whileHeld += events;
        return;
      }
      // The longer a copy takes, the more events arrive during it.
      await appendPayments(arriving.shift() ?? 0);
      await scene.caughtUp();
    });
    const { eventsRead } = await rebuild(busy, {
      store: scene.store,
      pool: scene.pool,
      onProgress: ({ phase }) => phases.add(phase),
      pageMax: 1_000,
    });
    expect(eventsRead).toBe(6_730);
    expect(whileHeld).toBeLessThanOrEqual(gapEventsMax);
    expect([...phases]).toEqual(['copy', 'index', 'vacuum', 'catch up', 'swap']);
    await appendPayments(3);
    await scene.caughtUp();
    expect(await count('payments')).toBe(6_733);
  });

  it('lets the projector continue while a reader locks the tables, and swaps them after that', async () => {
    scene.runner.start();
    await appendPayments(3);
    await scene.caughtUp();
    const reader = new pg.Client({ connectionString: scene.databaseUrl });
    await reader.connect();
    try {
      await reader.query('BEGIN');
      await reader.query('SELECT count(*) FROM payments');
      const oid = (await reader.query<{ oid: number }>("SELECT 'payments'::regclass::oid AS oid"))
        .rows[0]?.oid;
      let swaps = 0;
      const rebuilding = rebuildProjection('payments', {
        store: scene.store,
        pool: scene.pool,
        onProgress: ({ phase }) => (swaps += phase === 'swap' ? 1 : 0),
      });
      for (const tries of [1, 2, 3]) {
        await until(() => swaps > tries, { timeoutMs });
        await appendPayments(1);
        await scene.caughtUp();
      }
      await reader.query('COMMIT');
      expect((await rebuilding).eventsRead).toBeGreaterThanOrEqual(6);
      const { rows } = await scene.pool.query<{ oid: number }>(
        "SELECT 'payments'::regclass::oid AS oid",
      );
      expect(rows[0]?.oid).not.toBe(oid);
      expect(await count('payments')).toBe(6);
    } finally {
      await reader.end();
    }
  });

  it('waits for the snapshot of an audit, and both let lists and the projector go on', async () => {
    const { pool, store } = scene;
    const runner = new ProjectionRunner({ projection: projections.directory, store, pool });
    runner.start();
    const addContact = async () => {
      const contactId = randomUUID();
      await appendEvents(store, `contact-${contactId}`, [
        { type: 'ContactCreated', at, data: { ...contactExample(), contactId } },
      ]);
      expect(await runner.waitFor(await store.lastPosition(), timeoutMs)).toBe(true);
      return count('contacts');
    };
    expect(await addContact()).toBe(1);
    // Read within the snapshot.
    const snapshot = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const audited: EventStore = {
      ...store,
      async lastPosition() {
        snapshot.resolve();
        await end.promise;
        return store.lastPosition();
      },
    };
    const found: unknown[] = [];
    const comparing = compareReadModels('directory', {
      ...{ store: audited, pool, withPersonalData: true, settleMaxMs: 0 },
      onDifference: (difference) => found.push(difference),
    });
    let swaps = 0;
    let rebuilding: Promise<unknown> = Promise.resolve();
    try {
      await Promise.race([snapshot.promise, comparing]);
      rebuilding = rebuildProjection('directory', {
        ...{ store, pool },
        onProgress: ({ phase }) => (swaps += phase === 'swap' ? 1 : 0),
      });
      for (const tries of [1, 2]) {
        await until(() => swaps > tries, { timeoutMs });
        expect(await addContact()).toBe(1 + tries);
      }
    } finally {
      end.resolve();
      await Promise.all([comparing, rebuilding]);
      await runner.stop();
    }
    expect(found).toEqual([]);
    expect(await count('contacts')).toBe(3);
  });

  it('waits for an unavailable event store, also in the middle', async () => {
    await appendPayments(2_500);
    let failures = 2;
    const readLog: EventStore['readLog'] = (options) => {
      if (options.after === '' || failures === 0) return scene.store.readLog(options);
      failures -= 1;
      return Promise.reject(new StoreUnavailable('away'));
    };
    const { eventsRead } = await rebuildProjection('payments', {
      store: { ...scene.store, readLog },
      pool: scene.pool,
    });
    expect({ eventsRead, failures }).toEqual({ eventsRead: 2_500, failures: 0 });
  });
});

it('has no statement timeout, whatever the settings of the pool, the user and the database', async () => {
  await appendPayments(1);
  const name = new URL(scene.databaseUrl).pathname.slice(1);
  await scene.pool.query(`ALTER DATABASE ${name} SET statement_timeout = '10s'`);
  const limited = new pg.Pool({
    connectionString: scene.databaseUrl,
    statement_timeout: 10_000,
    query_timeout: 10_000,
    max: 1,
  });
  try {
    // The pool's only connection is in use: the rebuild has one of its own.
    const taken = await limited.connect();
    const seen: unknown[] = [];
    const looking = hooked(async ({ client }) => {
      const { rows } = await client.query<object>('SHOW statement_timeout');
      const { connectionParameters } = client as unknown as {
        connectionParameters: { query_timeout: unknown };
      };
      seen.push(rows[0], Number(connectionParameters.query_timeout));
    });
    await rebuild(looking, { store: scene.store, pool: limited }).finally(() => taken.release());
    expect(seen).toEqual([{ statement_timeout: '0' }, 0]);
  } finally {
    await limited.end();
  }
});
