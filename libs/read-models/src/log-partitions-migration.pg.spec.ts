/** The migrations that turn the log into partitions, while processes of the release before append to it. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { randomUUID } from 'node:crypto';
import { createTestDatabase, type TestDatabase } from '@pis/local-servers/testing';
import * as postgres from '@pis/postgres';
import pg from 'pg';
import { migrate } from './migrate.js';

const migrations = fileURLToPath(new URL('../prisma/migrations', import.meta.url));
const steps = readdirSync(migrations).filter((name) => /^20261205000[123]00_/.test(name));
const sqlOf = (name: string) => readFileSync(path.join(migrations, name, 'migration.sql'), 'utf8');

let scratch: string;
let database: TestDatabase;
let client: pg.Client;
let writer: pg.Client;

beforeEach(async () => {
  scratch = mkdtempSync(path.join(os.tmpdir(), 'pis-migrations-'));
  database = await createTestDatabase();
  [client, writer] = await Promise.all([connect(), connect()]);
  await client.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  for (const name of readdirSync(migrations).filter((each) => each < '20261205000100'))
    cpSync(path.join(migrations, name), path.join(scratch, name), { recursive: true });
  await postgres.migrate({ connectionString: database.url, dir: scratch });
});
afterEach(async () => {
  await Promise.all([client.end(), writer.end()]);
  await database.drop();
  rmSync(scratch, { recursive: true });
});

async function connect(): Promise<pg.Client> {
  const connected = new pg.Client({ connectionString: database.url });
  await connected.connect();
  return connected;
}

/** As the release before does it: prepared on its connection before the migration. */
async function append(streamId: string, expected: number) {
  const proposal = { a: 0, s: streamId, x: expected, n: 1, o: 0, i: randomUUID(), t: 'Happened' };
  const { rows } = await writer.query<{ done: boolean; at: string }>({
    name: 'append',
    text: 'SELECT done, at_position::text AS at FROM append_events($1::json, $2, $3)',
    values: [JSON.stringify([proposal]), '{}', '{}'],
  });
  return rows[0];
}

async function read(streamId: string) {
  const { rows } = await writer.query<{ revision: number }>({
    ...{ name: 'read', text: 'SELECT * FROM events WHERE stream_id = $1 ORDER BY revision' },
    values: [streamId],
  });
  return rows.map(({ revision }) => revision);
}

const partitions = async () =>
  (await client.query('SELECT * FROM event_partitions')).rows as unknown[];

it('keep every event, and the connections of the release before go on', async () => {
  expect(await append('payment-1', -1)).toEqual({ done: true, at: '1' });
  expect(await read('payment-1')).toEqual([0]);
  for (const [index, name] of steps.entries()) {
    await client.query(sqlOf(name));
    expect(await append('payment-1', index)).toEqual({ done: true, at: String(index + 2) });
  }
  expect(await append('payment-1', 0)).toEqual({ done: false, at: null });
  expect(await read('payment-1')).toEqual([0, 1, 2, 3]);
  expect(await partitions()).toEqual([
    {
      ...{ partition: 'events_1', from_position: null, to_position: '50000000' },
      tablespace: 'pg_default',
    },
    {
      ...{ partition: 'events_2', from_position: '50000000', to_position: '100000000' },
      tablespace: 'pg_default',
    },
  ]);
  const twice = client.query(
    `INSERT INTO events SELECT 9, stream_id, revision, id, type, data, metadata FROM events LIMIT 1`,
  );
  await expect(twice).rejects.toThrow('events_1_stream_id_revision_key');
});

it('read no event under a lock that others wait for, and leave room in the first partition', async () => {
  await client.query('UPDATE event_log_head SET position = 139999999');
  await client.query('SET client_min_messages = debug1');
  const notices: string[] = [];
  client.on('notice', ({ message }) => notices.push(message ?? ''));
  for (const name of steps) await client.query(sqlOf(name));
  expect(notices).toContain(
    'partition constraint for table "events_1" is implied by existing constraints',
  );
  expect(await partitions()).toMatchObject([
    { partition: 'events_1', to_position: '150000000' },
    { partition: 'events_2', to_position: '200000000' },
  ]);
});

it('leave a log that is nearly at the end of its partition another one', async () => {
  await client.query('UPDATE event_log_head SET position = 140000000');
  await migrate({ connectionString: database.url });
  expect(await partitions()).toMatchObject([
    { partition: 'events_1', to_position: '200000000' },
    { partition: 'events_2', to_position: '250000000' },
  ]);
});

it('let those read the log who could read it before', async () => {
  const role = `auditor_${randomUUID().replaceAll('-', '')}`;
  await client.query(`CREATE ROLE ${role}; GRANT USAGE ON SCHEMA public TO ${role}`);
  await client.query(`GRANT SELECT ON events TO ${role}`);
  try {
    for (const name of steps) await client.query(sqlOf(name));
    await client.query(`SET ROLE ${role}`);
    expect((await client.query('SELECT FROM events')).rowCount).toBe(0);
    await expect(client.query('DELETE FROM events')).rejects.toThrow('permission denied');
    await client.query('RESET ROLE');
  } finally {
    await client.query(`RESET ROLE; DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});
