import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  createTestDatabase,
  requireServer,
  until,
  type TestDatabase,
} from '@pis/local-servers/testing';
import pg from 'pg';
import { silenceable } from './testing/silent-proxy.js';
import { migrate, MigrationRefused, migrationStatus, waitForCurrentSchema } from './migrate.js';

/** Without the tables and the bookkeeping of the service's own migrations. */
let database: TestDatabase;
let dir: string;
let connectionString: string;

async function write(name: string, sql: string): Promise<void> {
  await mkdir(path.join(dir, name), { recursive: true });
  await writeFile(path.join(dir, name, 'migration.sql'), sql);
}

async function query<Row extends object>(sql: string): Promise<readonly Row[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

beforeEach(async () => {
  database = await createTestDatabase();
  connectionString = database.url;
  await query('DROP SCHEMA public CASCADE');
  await query('CREATE SCHEMA public');
  dir = await mkdtemp(path.join(tmpdir(), 'migrations-'));
  await write('001_accounts', 'CREATE TABLE accounts (id int); INSERT INTO accounts VALUES (1);');
  await write('002_more', 'INSERT INTO accounts VALUES (2);');
});

afterEach(async () => {
  await database.drop();
  await rm(dir, { recursive: true });
});

describe('pis migrate', () => {
  it('applies what is missing, in order, and then nothing', async () => {
    expect(await migrate({ connectionString, dir })).toEqual(['001_accounts', '002_more']);
    expect(await migrate({ connectionString, dir })).toEqual([]);
    expect(await query('SELECT id FROM accounts ORDER BY id')).toEqual([{ id: 1 }, { id: 2 }]);
    expect(await migrationStatus({ connectionString, dir })).toEqual({
      applied: ['001_accounts', '002_more'],
      pending: [],
    });
  });

  it('applies each migration once when several are started at once', async () => {
    const runs = await Promise.all([1, 2, 3, 4].map(() => migrate({ connectionString, dir })));
    expect(runs.flat().sort()).toEqual(['001_accounts', '002_more']);
    expect(await query('SELECT id FROM accounts')).toHaveLength(2);
  });

  it('waits for another process that applies migrations, until its signal aborts', async () => {
    const runner = new pg.Client({ connectionString });
    await runner.connect();
    await runner.query('SELECT pg_advisory_lock(72707369)');
    const lines: string[] = [];
    const log = (line: string) => lines.push(line);
    const ending = new AbortController();
    const given = { connectionString, dir, log };
    const aborted = migrate({ ...given, signal: ending.signal });
    const rejected = expect(aborted).rejects.toThrow('the process ends');
    const patient = migrate({ ...given, signal: new AbortController().signal });
    await until(() => lines.length === 2, { timeoutMs: 20_000 });
    ending.abort(new Error('the process ends'));
    await rejected;
    await runner.end();
    expect(await patient).toEqual(['001_accounts', '002_more']);
    expect(lines.slice(0, 2)).toEqual(
      Array(2).fill('waiting for another process that applies migrations'),
    );
  });

  it('leaves nothing of a migration that fails, and goes on once it is mended', async () => {
    await write('002_more', 'INSERT INTO accounts VALUES (2); SELECT no_such_function();');
    await expect(migrate({ connectionString, dir })).rejects.toThrow(/002_more failed/);
    expect(await query('SELECT id FROM accounts')).toEqual([{ id: 1 }]);
    await write('002_more', 'INSERT INTO accounts VALUES (2);');
    expect(await migrate({ connectionString, dir })).toEqual(['002_more']);
  });

  it('takes as long as it needs, whatever limits statements of the role or database have', async () => {
    const [{ name = '' } = {}] = await query<{ name: string }>('SELECT current_database() AS name');
    await query(`ALTER DATABASE "${name}" SET statement_timeout = '30s'`);
    await query(`ALTER DATABASE "${name}" SET transaction_timeout = '30s'`);
    const limits = `current_setting('statement_timeout') AS statement_limit,
      current_setting('transaction_timeout') AS transaction_limit`;
    await write('003_limits', `CREATE TABLE limits AS SELECT ${limits};`);
    await migrate({ connectionString, dir });
    expect(await query('SELECT * FROM limits')).toEqual([
      { statement_limit: '0', transaction_limit: '0' },
    ]);
  });

  it('does not hold up everybody else while it waits for a table that a backup reads', async () => {
    await migrate({ connectionString, dir });
    await write('003_column', 'ALTER TABLE accounts ADD COLUMN owner text');
    const backup = new pg.Client({ connectionString });
    await backup.connect();
    try {
      await backup.query('BEGIN; LOCK TABLE accounts IN ACCESS SHARE MODE');
      const lines: string[] = [];
      const log = (line: string) => lines.push(line);
      const migrating = migrate({ connectionString, dir, log, slowAfterMs: 1 });
      await until(() => lines.length > 0, { timeoutMs: 20_000 });
      // It would wait behind the migration, which waits behind the backup.
      expect(await query('SELECT id FROM accounts')).toHaveLength(2);
      await backup.query('COMMIT');
      expect(await migrating).toEqual(['003_column']);
      expect(lines).toEqual(['003_column waits for a table that others use', 'applied 003_column']);
    } finally {
      await backup.end();
    }
  });

  it('runs a statement outside a transaction when the file asks for it', async () => {
    await write(
      '003_index',
      '-- migrate:no-transaction\nCREATE INDEX CONCURRENTLY by_id ON accounts (id);',
    );
    await Promise.all([1, 2].map(() => migrate({ connectionString, dir })));
    expect(await query("SELECT 1 FROM pg_indexes WHERE indexname = 'by_id'")).toHaveLength(1);
  });

  it('lets an index that is built concurrently wait for a long read, which holds up nobody', async () => {
    await write(
      '003_index',
      "-- migrate:no-transaction\nCREATE TABLE limits AS SELECT current_setting('lock_timeout') AS lock",
    );
    await migrate({ connectionString, dir });
    expect(await query('SELECT lock FROM limits')).toEqual([{ lock: '0' }]);
  });

  it('waits for a table until PostgreSQL has ended an autovacuum of it', async () => {
    await write(
      '003_limits',
      `CREATE TABLE limits AS SELECT current_setting('lock_timeout')::interval
         > current_setting('deadlock_timeout')::interval AS is_longer`,
    );
    await migrate({ connectionString, dir });
    expect(await query('SELECT is_longer FROM limits')).toEqual([{ is_longer: true }]);
  });

  it('refuses to go on after a half-applied migration without a transaction', async () => {
    await write('003_vacuum', '-- migrate:no-transaction\nVACUUM nowhere;');
    await expect(migrate({ connectionString, dir })).rejects.toThrow(/003_vacuum failed/);
    await expect(migrate({ connectionString, dir })).rejects.toThrow(MigrationRefused);
    await expect(waitForCurrentSchema({ connectionString, dir })).rejects.toThrow(MigrationRefused);
  });

  it('builds an index anew whose process has died in it', async () => {
    const writer = await writeThenBuildIndex();
    const proxy = await silenceable(connectionString);
    const migrated = migrate({ connectionString: proxy.url, dir });
    const failed = expect(migrated).rejects.toThrow(/003_index failed/);
    await indexBegins();
    proxy.close();
    await failed;
    // The session of the process that died may still wait for this transaction.
    const again = migrate({ connectionString, dir });
    await writer.query('COMMIT');
    await writer.end();
    expect(await again).toEqual(['003_index']);
    expect(await query(validIndex)).toEqual([{ isValid: true }]);
    expect(await migrationStatus({ connectionString, dir })).toMatchObject({ pending: [] });
    expect(await migrate({ connectionString, dir })).toEqual([]);
  });

  it('keeps an index that was whole when its process died', async () => {
    await write(
      '003_index',
      '-- migrate:no-transaction\nCREATE INDEX CONCURRENTLY by_id ON accounts (id);',
    );
    await migrate({ connectionString, dir });
    const indexId = "SELECT to_regclass('by_id')::oid AS id";
    const before = await query(indexId);
    await query(
      "UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name = '003_index'",
    );
    expect(await migrate({ connectionString, dir })).toEqual(['003_index']);
    expect(await query(indexId)).toEqual(before);
    expect(await migrate({ connectionString, dir })).toEqual([]);
  });

  it('fails again, with the reason, while an index cannot be built', async () => {
    await write(
      '003_index',
      '-- migrate:no-transaction\nCREATE UNIQUE INDEX CONCURRENTLY by_id ON accounts ((1));',
    );
    for (let tries = 0; tries < 2; tries += 1)
      await expect(migrate({ connectionString, dir })).rejects.toThrow(
        /003_index failed: .*unique/,
      );
    await query('DELETE FROM accounts');
    expect(await migrate({ connectionString, dir })).toEqual(['003_index']);
  });

  it('refuses a migration that was edited after it was applied', async () => {
    await migrate({ connectionString, dir });
    await write('002_more', 'INSERT INTO accounts VALUES (3);');
    await expect(migrate({ connectionString, dir })).rejects.toThrow(/002_more was edited/);
    await expect(migrationStatus({ connectionString, dir })).rejects.toThrow(MigrationRefused);
  });

  it('refuses a database that has a migration which is not on disk, unless a newer release made it', async () => {
    await migrate({ connectionString, dir });
    await rm(path.join(dir, '001_accounts'), { recursive: true });
    await expect(migrate({ connectionString, dir })).rejects.toThrow(/001_accounts .* not on disk/);
  });

  it('has nothing to do after a rollback to the release before', async () => {
    await write(
      '003_index',
      '-- migrate:no-transaction\nCREATE INDEX CONCURRENTLY i ON nowhere (x);',
    );
    // It failed half-way, which may be why the release was rolled back.
    await expect(migrate({ connectionString, dir })).rejects.toThrow(/003_index failed/);
    await rm(path.join(dir, '003_index'), { recursive: true });
    const lines: string[] = [];
    expect(await migrate({ connectionString, dir, log: (line) => lines.push(line) })).toEqual([]);
    expect(lines).toEqual(['the schema is of a newer release, with the migrations 003_index']);
  });

  it('refuses a newer database that lacks a migration of its own', async () => {
    await migrate({ connectionString, dir });
    await rm(path.join(dir, '002_more'), { recursive: true });
    await write('0015_between', 'SELECT 1');
    await expect(migrate({ connectionString, dir })).rejects.toThrow(/002_more .* not on disk/);
  });
});

const validIndex = `SELECT indisvalid AS "isValid" FROM pg_index WHERE indexrelid = to_regclass('by_id')`;

/** Ends when the transaction does in which the client that is returned has written. */
async function writeThenBuildIndex(): Promise<pg.Client> {
  await migrate({ connectionString, dir });
  await write(
    '003_index',
    '-- migrate:no-transaction\nCREATE INDEX CONCURRENTLY by_id ON accounts (id);',
  );
  const writer = new pg.Client({ connectionString });
  // Dropping the database of a test that failed ends the connection.
  writer.on('error', () => undefined);
  await writer.connect();
  await writer.query('BEGIN');
  await writer.query('INSERT INTO accounts VALUES (3)');
  return writer;
}

async function indexBegins(): Promise<void> {
  const unfinished = 'SELECT FROM _prisma_migrations WHERE finished_at IS NULL';
  await until(async () => (await query(unfinished)).length === 1, { timeoutMs: 20_000 });
}

describe('an app that starts before its schema', () => {
  it('waits until every migration it knows is applied', async () => {
    const reasons: string[] = [];
    let current = false;
    const waiting = waitForCurrentSchema({
      connectionString,
      dir,
      log: (line) => reasons.push(line),
    }).then(() => (current = true));
    await until(() => reasons.length > 0, { timeoutMs: 20_000 });
    expect(current).toBe(false);
    await migrate({ connectionString, dir });
    await waiting;
    expect(reasons[0]).toBe('waiting for the migrations 001_accounts, 002_more');
  });

  it('names only the first of the many migrations that a new database waits for', async () => {
    for (const name of ['003_a', '004_b', '005_c']) await write(name, 'SELECT 1;');
    const ended = new AbortController();
    const reasons: string[] = [];
    const waiting = waitForCurrentSchema({
      connectionString,
      dir,
      signal: ended.signal,
      log: (line) => reasons.push(line),
    });
    await until(() => reasons.length > 0, { timeoutMs: 20_000 });
    ended.abort();
    await expect(waiting).rejects.toThrow();
    expect(reasons).toEqual([
      'waiting for the migrations 001_accounts, 002_more, 003_a and 2 more',
    ]);
  });

  it('waits while another process builds an index concurrently', async () => {
    const writer = await writeThenBuildIndex();
    const lines: string[] = [];
    const log = (line: string) => lines.push(line);
    const migrated = migrate({ connectionString, dir, log, slowAfterMs: 1 });
    await indexBegins();
    const reasons: string[] = [];
    const waiting = waitForCurrentSchema({
      connectionString,
      dir,
      log: (line) => reasons.push(line),
    });
    await until(() => reasons.length > 0 && lines.length > 0, { timeoutMs: 20_000 });
    await writer.query('COMMIT');
    await writer.end();
    await Promise.all([migrated, waiting]);
    expect(reasons).toEqual(['waiting for the migrations 003_index']);
    expect(lines).toEqual([
      '003_index goes on: it may wait for transactions that began before it',
      'applied 003_index',
    ]);
  });

  it('waits for the next process that migrates, after the one that builds an index has died', async () => {
    const writer = await writeThenBuildIndex();
    const proxy = await silenceable(connectionString);
    const migrated = migrate({ connectionString: proxy.url, dir });
    const failed = expect(migrated).rejects.toThrow(/003_index failed/);
    await indexBegins();
    proxy.close();
    await failed;
    const waiting = waitForCurrentSchema({ connectionString, dir });
    await writer.end();
    await migrate({ connectionString, dir });
    await waiting;
  });

  it('is not refused when another process begins to build an index meanwhile', async () => {
    await migrate({ connectionString, dir });
    const record = (name: string) =>
      `INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ('${name}', '', '${name}')`;
    await write('003_index', 'SELECT 3');
    await write('004_index', 'SELECT 4');
    await query(record('003_index'));
    // Reading the locks is when it happens: one runner has ended, the next one is at work.
    await query(`CREATE FUNCTION next_runner() RETURNS SETOF pg_catalog.pg_locks LANGUAGE plpgsql AS $$
      BEGIN
        DELETE FROM _prisma_migrations WHERE id = '003_index';
        ${record('004_index')};
      END $$`);
    await query('CREATE VIEW pg_locks AS SELECT * FROM next_runner()');
    const ours = new URL(connectionString);
    ours.searchParams.set('options', '-c search_path=public,pg_catalog');
    expect(await migrationStatus({ connectionString: ours.href, dir })).toMatchObject({
      pending: ['003_index', '004_index'],
    });
  });

  it('serves on a database that a newer release has migrated', async () => {
    await migrate({ connectionString, dir });
    await rm(path.join(dir, '002_more'), { recursive: true });
    await waitForCurrentSchema({ connectionString, dir });
  });

  it('waits for a database that cannot be reached until its signal aborts', async () => {
    const unreachable = new URL(requireServer('PIS_TEST_POSTGRES_URL'));
    unreachable.port = '1';
    const ending = new AbortController();
    const reasons: string[] = [];
    const waiting = waitForCurrentSchema({
      connectionString: unreachable.href,
      dir,
      signal: ending.signal,
      log: (line) => {
        reasons.push(line);
        ending.abort(new Error('aborted'));
      },
    });
    await expect(waiting).rejects.toThrow();
    expect(reasons[0]).toMatch(/waiting for PostgreSQL/);
  });
});
