import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { pauseConnections, readPauses, restoredAt, resumeConnection } from './connection-pauses.js';

const migrations = path.join(import.meta.dirname, '../../../read-models/prisma/migrations');
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

async function identity(on: pg.Pool | pg.ClientBase = pool): Promise<string> {
  const { rows } = await on.query<{ identity: string }>(
    'SELECT rail_database_identity() AS identity',
  );
  return rows[0]?.identity ?? '';
}

it('the identity of a database has its timeline, also for a user who may not read the identifier of the server', async () => {
  const [, timeline, tables] = /^\d+\/([0-9A-F]{8})\/(\d+\/\d+)$/.exec(await identity()) ?? [];
  expect(timeline).toBeDefined();
  await pool.query('REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC');
  const session = openTestPool(database.url, 1);
  try {
    // Superusers may read everything. This role is there on every server.
    await session.query('SET ROLE pg_read_all_data');
    expect(await identity(session)).toBe(`/${timeline}/${tables}`);
    expect(await identity(session)).toBe(`/${timeline}/${tables}`);
  } finally {
    await session.end();
  }
});

it('a session reads the identity of its database once, and sees that its tables were replaced', async () => {
  const before = await identity();
  await pool.query('BEGIN');
  await pool.query(`CREATE OR REPLACE FUNCTION rail_database_identity_read() RETURNS text
    LANGUAGE sql AS 'SELECT ''read again'''`);
  expect(await identity()).toBe(before);
  await pool.query('ALTER TABLE rail_connections RENAME TO lost_connections');
  await pool.query('CREATE TABLE rail_connections (LIKE lost_connections)');
  expect(await identity()).toBe('read again');
  await pool.query('ROLLBACK');
  expect(await identity()).toBe(before);
});

it('a copy that CREATE DATABASE has made is another database, so what it takes the place of is not sent again', async () => {
  await readPauses(pool, ['copied']);
  // Both are copies of one template: their tables have the same identifiers.
  const copy = await createTestDatabase();
  const copyPool = openTestPool(copy.url, 1);
  try {
    const { rows } = await pool.query("SELECT * FROM rail_connections WHERE connection = 'copied'");
    await copyPool.query(
      'INSERT INTO rail_connections SELECT * FROM jsonb_populate_recordset(NULL::rail_connections, $1)',
      [JSON.stringify(rows)],
    );
    expect((await readPauses(copyPool, ['copied'])).get('copied')).toMatchObject({
      isRestored: true,
    });
    expect((await readPauses(pool, ['copied'])).size).toBe(0);
  } finally {
    await pool.query("DELETE FROM rail_connections WHERE connection = 'copied'");
    await copyPool.end();
    await copy.drop();
  }
});

it('an upgrade that extends the identity keeps connections bound, and those of a restore paused', async () => {
  const migration = (name: string) =>
    pool.query(readFileSync(path.join(migrations, name, 'migration.sql'), 'utf8'));
  await migration('20261212000000_timeline_of_database');
  await readPauses(pool, ['bound', 'restored']);
  await pool.query("UPDATE rail_connections SET identity = 'lost' WHERE connection = 'restored'");
  await migration('20261215000000_copies_of_database');
  await migration('20261220000000_identity_of_session');
  expect([...(await readPauses(pool, ['bound', 'restored'])).keys()]).toEqual(['restored']);
  await pool.query("DELETE FROM rail_connections WHERE connection IN ('bound', 'restored')");
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

it('inquiries of a pause after a failover repeat no number that the lost database has used', async () => {
  await readPauses(pool, ['messages']);
  const lastNumbers = async () => {
    const { rows } = await pool.query<{ last: number }>(
      "SELECT DISTINCT last::int FROM iso_message_numbers WHERE connection = 'messages'",
    );
    return rows.map(({ last }) => last);
  };
  await pool.query("INSERT INTO iso_message_numbers VALUES ('messages', current_date, 7)");
  await pool.query("UPDATE rail_connections SET identity = 'lost'");
  await readPauses(pool, ['messages']);
  await readPauses(pool, ['messages']);
  expect((await lastNumbers()).sort()).toEqual([10_000, 10_007]);
  await resumeConnection(pool, 'messages');
  expect((await lastNumbers()).sort()).toEqual([110_000, 110_007]);
});

it('what a bank has said of payments that a restored log has as queued is tried again after the pause', async () => {
  await readPauses(pool, ['files', 'others']);
  await pool.query("UPDATE rail_connections SET identity = 'lost' WHERE connection = 'files'");
  await pool.query(
    `INSERT INTO rail_notified_references (feed, reference, since, tries, due_at)
     SELECT feed, 'R1', now() - interval '4 days', 80, 'infinity' FROM unnest('{files,others}'::text[]) AS feed`,
  );
  await resumeConnection(pool, 'files');
  const { rows } = await pool.query(
    'SELECT feed, due_at <= now() AS is_due FROM rail_notified_references ORDER BY feed',
  );
  expect(rows).toEqual([
    { feed: 'files', is_due: true },
    { feed: 'others', is_due: false },
  ]);
});
