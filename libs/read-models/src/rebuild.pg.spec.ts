import { randomUUID } from 'node:crypto';
import { type EventStore, EventsLost, memoryEventStore } from '@pis/event-store';
import { ids } from '@pis/domain/testing';
import { until } from '@pis/local-servers/testing';
import { directoryProjection } from './directory.projection.js';
import { paymentsQuery } from './payments-query.js';
import { projectionStatus } from './projections.js';
import { rebuild, rebuildProjection, RebuildUnderWay } from './rebuild.js';
import { completePayment, queuePayment } from './testing.js';
import { hooked, rebuildScene, type RebuildScene } from './testing/rebuild-scene.js';

const at = '2026-11-21T09:00:00.000Z';
const timeoutMs = 20_000;

let scene: RebuildScene;
beforeEach(async () => {
  scene = await rebuildScene();
});
afterEach(() => scene.close());

async function appendPayments(count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    const payment = await queuePayment(scene.store, at, { externalPaymentId: `order-${index}` });
    if (index % 2 === 0) await completePayment(scene.store, payment);
  }
}

async function tableContents(): Promise<string> {
  const { rows } = await scene.pool.query<{ contents: string }>(
    `SELECT string_agg(p::text, E'\\n' ORDER BY payment_id) AS contents FROM payments p`,
  );
  return rows[0]?.contents ?? '';
}

/** The definitions of tables and indexes, with their settings. */
async function objectNames(): Promise<readonly string[]> {
  const { rows } = await scene.pool.query<{ name: string }>(
    `SELECT concat_ws(' ', relname, reloptions) AS name FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relname ~ 'payments|_rebuild' ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

describe('rebuilding a projection', () => {
  it('gives the same table while payments keep arriving and lists keep being answered', async () => {
    scene.runner.start();
    await appendPayments(1_500);
    await scene.caughtUp();
    const names = await objectNames();
    expect(names).toContainEqual(expect.stringMatching(/^payments .*vacuum/));
    await scene.pool.query('DELETE FROM payments WHERE status = $1', ['COMPLETED']);
    await scene.pool.query("UPDATE payments SET status = 'BLOCKED'");

    let rebuilding = true;
    const list = paymentsQuery(scene.pool);
    const { organizationId } = (
      await scene.pool.query<{ organizationId: string }>(
        'SELECT organization_id AS "organizationId" FROM payments LIMIT 1',
      )
    ).rows[0] ?? { organizationId: '' };
    const others = (async () => {
      while (rebuilding) {
        await appendPayments(1);
        const { items } = await list.list(organizationId, {}, { limit: 5 });
        expect(items).toHaveLength(5);
      }
    })();
    const report = await rebuildProjection('payments', scene);
    rebuilding = false;
    await others;
    expect(report.eventsRead).toBeGreaterThanOrEqual(3_000);
    expect(report.eventsPerSecond).toBeGreaterThan(0);

    await appendPayments(10);
    await scene.caughtUp();
    expect(scene.runner.state.lastError).toBeNull();
    const contents = await tableContents();
    expect(await objectNames()).toEqual(names);
    await scene.runner.stop();
    await rebuildProjection('payments', scene);
    expect(await tableContents()).toBe(contents);
    const { rows } = await scene.pool.query<object>(
      'SELECT DISTINCT status FROM payments ORDER BY 1',
    );
    expect(rows).toEqual([{ status: 'COMPLETED' }, { status: 'QUEUED' }]);
  });

  it('repeats the erasures of those whose names it may have copied, and no others', async () => {
    await queuePayment(scene.store, at);
    const { organization: organizationId, contact: named } = ids;
    const [recent, past] = [randomUUID(), randomUUID()];
    const startedAt = Date.now();
    for (const [id, erasedAt] of [
      [named, at],
      [past, at],
      [recent, new Date(startedAt - 30_000).toISOString()],
    ])
      await scene.pool.query(
        `INSERT INTO erased_parties (party_id, kind, organization_id, erased_at, position, passes)
         VALUES ($1, 'contact', $2, $3, '1', 3)`,
        [id, organizationId, erasedAt],
      );
    await rebuildProjection('payments', scene);
    const { rows } = await scene.pool.query<{ party_id: string }>(
      'SELECT party_id FROM erased_parties WHERE due_at IS NOT NULL AND passes = 0',
    );
    expect(rows.map(({ party_id: id }) => id).toSorted()).toEqual([named, recent].toSorted());
  });

  it('works where no projector has ever run', async () => {
    await appendPayments(3);
    const { eventsRead } = await rebuildProjection('payments', scene);
    expect(eventsRead).toBe(7);
    const [payments] = await projectionStatus(scene.pool, scene.store);
    expect(payments).toMatchObject({ name: 'payments', lag: 0 });
    expect(payments?.position).toBe(await scene.store.lastPosition());
  });

  it('rebuilds every table of the directory', async () => {
    const before = await tableIndexes();
    await rebuild(directoryProjection, scene);
    expect(await tableIndexes()).toEqual(before);
  });

  it('does not change the tables in use when the log has lost events that it has copied', async () => {
    scene.runner.start();
    await appendPayments(10);
    await scene.caughtUp();
    const contents = await tableContents();
    let log = scene.store;
    const restored = memoryEventStore();
    for (let count = 0; count < 20; count += 1) await queuePayment(restored, at);
    const restoring = hooked(({ write }) => {
      if (write === 2) log = restored;
      return Promise.resolve();
    });
    const store: EventStore = {
      ...scene.store,
      readLog: (options) => log.readLog(options),
      lastPosition: () => log.lastPosition(),
      lastEvent: (upTo) => log.lastEvent(upTo),
    };
    const rebuilding = rebuild(restoring, { store, pool: scene.pool, pageMax: 2 });
    await expect(rebuilding).rejects.toThrow(EventsLost);
    expect(await tableContents()).toBe(contents);
  });

  it('does not change the tables in use when it is killed, and works the next time', async () => {
    scene.runner.start();
    await appendPayments(1_200);
    await scene.caughtUp();
    const [names, contents] = [await objectNames(), await tableContents()];
    const killed = hooked(async ({ write, client }) => {
      if (write !== 2) return;
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await scene.pool.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
    });
    const { store, pool } = scene;
    await expect(rebuild(killed, { store, pool, pageMax: 1_000 })).rejects.toThrow();
    expect(await tableContents()).toBe(contents);
    expect(await objectNames()).not.toEqual(names);

    await rebuildProjection('payments', scene);
    expect(await tableContents()).toBe(contents);
    expect(await objectNames()).toEqual(names);
  });

  it('keeps the tables in use when an event of a stream is missing', async () => {
    scene.runner.start();
    await appendPayments(2);
    await scene.caughtUp();
    const contents = await tableContents();
    await scene.runner.stop();
    const incomplete: EventStore = {
      ...scene.store,
      async readLog(options) {
        const page = await scene.store.readLog(options);
        return { ...page, events: page.events.filter((event) => event.revision !== 1) };
      },
    };
    const rebuilt = rebuildProjection('payments', { store: incomplete, pool: scene.pool });
    await expect(rebuilt).rejects.toThrow(/revision 2 after 0/);
    expect(await tableContents()).toBe(contents);
  });

  it('is refused while another one is under way', async () => {
    await appendPayments(1);
    let refused: unknown;
    const slow = hooked(async () => {
      refused = await rebuildProjection('payments', scene).catch((e: unknown) => e);
    });
    await rebuild(slow, scene);
    expect(refused).toBeInstanceOf(RebuildUnderWay);
  });

  it('never moves the lists back behind the position of the projector', async () => {
    await appendPayments(5);
    scene.runner.start();
    await scene.caughtUp();
    // Arrives, and is shown, after the rebuild believes that it has caught up.
    const late = hooked(async ({ write }) => {
      if (write > 1) return;
      await appendPayments(5);
      await scene.caughtUp();
    });
    await rebuild(late, scene);
    const { rows } = await scene.pool.query<object>('SELECT count(*)::int AS count FROM payments');
    expect(rows).toEqual([{ count: 10 }]);
    await appendPayments(1);
    await scene.caughtUp();
  });

  it('ends although payments never stop arriving', async () => {
    await appendPayments(3);
    const busy = hooked(() => appendPayments(2));
    const { eventsRead } = await rebuild(busy, scene);
    expect(eventsRead).toBeGreaterThanOrEqual(7);
    scene.runner.start();
    await scene.caughtUp();
    expect(await tableContents()).not.toBe('');
  });

  it('follows a log that was restored from an older copy', async () => {
    await appendPayments(6);
    await rebuildProjection('payments', scene);
    scene.store = memoryEventStore();
    await appendPayments(1);
    await rebuildProjection('payments', scene);
    const { rows } = await scene.pool.query<object>('SELECT count(*)::int AS count FROM payments');
    expect(rows).toEqual([{ count: 1 }]);
    expect((await projectionStatus(scene.pool, scene.store))[0]).toMatchObject({ lag: 0 });
  });

  it('reports the lag of each projection', async () => {
    await appendPayments(4);
    const [behind, directory] = await projectionStatus(scene.pool, scene.store);
    expect(behind).toEqual({ name: 'payments', position: '', lag: 8, updatedAt: null });
    expect(directory).toMatchObject({ name: 'directory', lag: 0 });
    scene.runner.start();
    await until(async () => (await projectionStatus(scene.pool, scene.store))[0]?.lag === 0, {
      timeoutMs,
    });
  });
});

async function tableIndexes(): Promise<readonly object[]> {
  const { rows } = await scene.pool.query<object>(
    `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1`,
  );
  return rows;
}
