import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { pauseConnections, readPauses, restoredAt, resumeConnection } from './connection-pauses.js';

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 1);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

async function identity(): Promise<string> {
  const { rows } = await pool.query<{ identity: string }>(
    'SELECT rail_database_identity() AS identity',
  );
  return rows[0]?.identity ?? '';
}

it('the identity of a database has its timeline, also for a user who may not read the identifier of the server', async () => {
  const [, timeline, table] = /^\d+\/([0-9A-F]{8})\/(\d+)$/.exec(await identity()) ?? [];
  expect(timeline).toBeDefined();
  await pool.query('REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC');
  // Superusers may read everything. This role is there on every server.
  await pool.query('SET ROLE pg_read_all_data');
  expect(await identity()).toBe(`/${timeline}/${table}`);
  await pool.query('RESET ROLE');
});

it('the time of a restore is known until each connection was compared and resumed', async () => {
  await readPauses(pool, ['a', 'b']);
  await pauseConnections(pool, { connection: 'a', isRestored: false, reason: 'by hand' });
  expect(await restoredAt(pool)).toBeNull();
  await pool.query("UPDATE rail_connections SET identity = 'lost'");
  expect(await restoredAt(pool)).toBeInstanceOf(Date);
  const pauses = await readPauses(pool, ['a', 'b']);
  await resumeConnection(pool, 'a');
  expect(await restoredAt(pool)).toEqual(pauses.get('b')?.pausedAt);
  await resumeConnection(pool, 'b');
  expect(await restoredAt(pool)).toBeNull();
});
