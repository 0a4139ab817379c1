/** Rebuilds of tables whose indexes or columns a migration changes meanwhile, and of tables with odd indexes. */
import { randomUUID } from 'node:crypto';
import { payment } from '@pis/domain';
import { linkRequest, paymentCommands, paymentExample } from '@pis/domain/testing';
import { repository, sealedStore, systemContext } from '@pis/event-store';
import { MemorySealing } from '@pis/event-store/testing';
import type pg from 'pg';
import { paymentsProjection } from './payments.projection.js';
import type { Projection, ReadTable } from './projection.js';
import { projectionNames } from './projections.js';
import { rebuild, rebuildProjection } from './rebuild.js';
import { queuePayment } from './testing.js';
import { hooked, rebuildScene, type RebuildScene } from './testing/rebuild-scene.js';

const at = '2026-11-21T09:00:00.000Z';

let scene: RebuildScene;
beforeEach(async () => {
  scene = await rebuildScene();
  await queuePayment(scene.store, at);
  await queuePayment(scene.store, at);
});
afterEach(() => scene.close());

/** A release that migrates the database after the indexes of the new tables are built. */
function migratedLate(sql: string): Projection {
  return {
    ...paymentsProjection,
    async replacing() {
      await scene.pool.query(sql);
      return async () => undefined;
    },
  };
}

async function indexes(): Promise<readonly (string | undefined)[]> {
  const { rows } = await scene.pool.query<{ name: string }>(
    `SELECT indexname AS name FROM pg_indexes WHERE tablename = 'payments' ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

async function rowCount(): Promise<number | undefined> {
  const { rows } = await scene.pool.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM payments',
  );
  return rows[0]?.count;
}

/** Every index and constraint, and each column with its storage. */
async function definitions(): Promise<readonly object[]> {
  const { rows } = await scene.pool.query<object>(
    `SELECT indexname AS name, indexdef AS definition FROM pg_indexes WHERE schemaname = 'public'
     UNION ALL SELECT conrelid::regclass || ' ' || conname, pg_get_constraintdef(oid)
       FROM pg_constraint WHERE connamespace = 'public'::regnamespace
     UNION ALL SELECT relname || ' ' || attname, concat_ws(' ', reloptions, attstattarget, attstorage, attcompression)
       FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
       WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0
     ORDER BY 1, 2`,
  );
  return rows;
}

describe('a rebuilt table', () => {
  it.each(projectionNames)('of the projection %s is defined as before', async (name) => {
    const before = await definitions();
    await rebuildProjection(name, scene);
    expect(await definitions()).toEqual(before);
  });

  it('does not replace one when the rebuild dies after its indexes are built, and does the next time', async () => {
    const before = await definitions();
    const killed: Projection = {
      ...paymentsProjection,
      async replacing(client) {
        await client.query('SELECT pg_terminate_backend(pg_backend_pid())');
        return async () => undefined;
      },
    };
    await expect(rebuild(killed, scene)).rejects.toThrow();
    const left = (await definitions()).filter((it) => !JSON.stringify(it).includes('_rebuild'));
    expect(left).toEqual(before);
    await rebuildProjection('payments', scene);
    expect(await definitions()).toEqual(before);
  });

  it('has an index that a migration has added meanwhile, under its name', async () => {
    const before = await indexes();
    const sql = 'CREATE INDEX payments_added ON payments (status, payment_id)';
    await rebuild(migratedLate(sql), scene);
    expect(await indexes()).toEqual([...before, 'payments_added'].toSorted());
    expect(await rowCount()).toBe(2);
  });

  it('lacks an index that a migration has dropped meanwhile', async () => {
    const before = await indexes();
    await rebuild(migratedLate('DROP INDEX payments_by_time'), scene);
    expect(await indexes()).toEqual(before.filter((name) => name !== 'payments_by_time'));
    expect(await rowCount()).toBe(2);
  });

  it.each([
    ['a column', 'ALTER TABLE payments ADD COLUMN added text'],
    ['a default', `ALTER TABLE payments ALTER COLUMN status SET DEFAULT 'QUEUED'`],
    ['a check', `ALTER TABLE payments ADD CONSTRAINT named CHECK (status <> '')`],
    ['a setting', 'ALTER TABLE payments SET (fillfactor = 61)'],
  ])('does not replace one to which a migration has added %s meanwhile', async (_what, sql) => {
    const migrated = hooked(async ({ write }) => {
      if (write === 1) await scene.pool.query(sql);
    });
    await expect(rebuild(migrated, scene)).rejects.toThrow(/payments .*start the rebuild again/);
    await rebuildProjection('payments', scene);
    const { rows } = await scene.pool.query<{ kept: boolean }>(
      `SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'payments'::regclass AND attname = 'added')
         OR EXISTS (SELECT FROM pg_constraint WHERE conrelid = 'payments'::regclass AND conname = 'named')
         OR EXISTS (SELECT FROM pg_attrdef WHERE adrelid = 'payments'::regclass)
         OR EXISTS (SELECT FROM pg_class WHERE oid = 'payments'::regclass AND 'fillfactor=61' = ANY (reloptions))
         AS kept`,
    );
    expect(rows).toEqual([{ kept: true }]);
  });

  it('has two indexes that differ in their names only', async () => {
    await scene.pool.query(
      'CREATE INDEX payments_twice ON payments (organization_id, created_at DESC, payment_id DESC)',
    );
    const before = await indexes();
    await rebuildProjection('payments', scene);
    expect(await indexes()).toEqual(before);
  });

  it('lacks an index whose construction failed', async () => {
    const before = await indexes();
    await rebuildProjection('payments', scene);
    const broken = 'CREATE UNIQUE INDEX CONCURRENTLY payments_broken ON payments (status)';
    await expect(scene.pool.query(broken)).rejects.toThrow(/could not create unique index/);
    expect(await indexes()).toContain('payments_broken');
    await rebuildProjection('payments', scene);
    expect(await indexes()).toEqual(before);
  });
});

it('a canceled link is found by an index while the log is copied', async () => {
  scene.store = sealedStore(scene.store, new MemorySealing());
  const links = repository(scene.store, payment);
  const by = systemContext('test');
  for (let count = 0; count < 50; count += 1) {
    const paymentId = randomUUID();
    const link = { ...linkRequest, tokenDigest: count.toString(16).padStart(64, '0') };
    const data = { ...paymentExample({ paymentId, contactId: null, contact: null }), link };
    await links.execute(paymentId, { type: 'AwaitConfirmation', at, data }, by);
    await links.execute(paymentId, paymentCommands.CancelPayment, by);
  }
  const scans: number[] = [];
  const watched = paymentsProjection.tables.map((table): ReadTable => {
    if (table.name !== 'payment_links') return table;
    return {
      ...table,
      async write(client, target, events) {
        // More rows than PostgreSQL reads rather than an index.
        await client.query(
          `INSERT INTO ${target} (token_digest, payment_id, organization_id, expires_at)
           SELECT sha256(n::text::bytea), gen_random_uuid(), gen_random_uuid(), now()
           FROM generate_series(1, 20000) n ON CONFLICT DO NOTHING`,
        );
        const before = await scansOf(client, target);
        await table.write(client, target, events);
        scans.push((await scansOf(client, target)) - before);
      },
    };
  });
  await rebuild({ ...paymentsProjection, tables: watched }, scene);
  expect(scans).toEqual([0]);
  const { rows } = await scene.pool.query<object>(
    'SELECT count(*)::int AS canceled FROM payment_links WHERE canceled_at IS NOT NULL',
  );
  expect(rows).toEqual([{ canceled: 50 }]);
});

/** How often this transaction has read the whole table. */
async function scansOf(client: pg.ClientBase, table: string): Promise<number> {
  const { rows } = await client.query<{ scans: number }>(
    'SELECT seq_scan::int AS scans FROM pg_stat_xact_user_tables WHERE relid = $1::regclass',
    [table],
  );
  return rows[0]?.scans ?? 0;
}
