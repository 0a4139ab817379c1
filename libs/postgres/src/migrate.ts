/**
 * Applies a folder of SQL migrations in the order of their names, through `pg` alone. The bookkeeping is
 * Prisma's own table `_prisma_migrations`, so `prisma migrate status` agrees. The
 * schema engine itself is not used, since installing it needs a download.
 *
 * What always holds: a migration and its record are committed together, except for an index that is built concurrently: the next
 * runner builds it anew after a death. Two concurrent runners apply each migration once. A database that differs from the files is refused.
 */
import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { liftTimeLimits } from './own-connection.js';
import { endSession, takeLock } from './singleton.js';
import { inTransaction } from './transaction.js';
import { isConnectionLoss, reasonOf, sqlStateOf } from './transient-errors.js';

export interface MigrationOptions {
  readonly connectionString: string;
  /** Holds a folder per migration with a `migration.sql`. */
  readonly dir: string;
}

/** The database and the files contradict each other: an operator must decide. */
export class MigrationRefused extends Error {
  override readonly name = 'MigrationRefused';
}

export interface MigrateOptions extends MigrationOptions {
  readonly log?: (line: string) => void;
  /**
   * Waits for another runner until the signal aborts. Without a signal, waits for a minute. It does not stop a migration
   * that has begun.
   */
  readonly signal?: AbortSignal;
  /** When to log that an index which is built concurrently is not ready yet. Default: a minute. */
  readonly slowAfterMs?: number;
}

/** The same advisory lock as Prisma's schema engine, so that the two never run at once. */
const migrationLock = { key: 72_707_369 };
const lockWaitMs = 60_000;
const lockPollMs = 100;
const defaultSlowAfterMs = 60_000;
/**
 * While a migration waits for a table, everybody else waits behind it: it waits briefly, and often. PostgreSQL ends an
 * autovacuum that holds up others only after deadlock_timeout, a second by default. That of a large table lasts for longer
 * than all tries.
 */
const tableWaitMs = 1_500;
const tableRetryMs = 3_000;
const tableTriesMax = 60;
/** SQLSTATE: lock_timeout has passed. */
const lockNotAvailable = '55P03';
const connectTimeoutMs = 5_000;
const keepAliveInitialDelayMs = 10_000;

/**
 * Applies what is missing and returns its names, in order. Waits for another runner. Has nothing to do after a
 * rollback, when a newer release has migrated the database, even if that failed half-way: migrations only add.
 * A file with the line `-- migrate:no-transaction` holds one statement that PostgreSQL refuses inside
 * a transaction (CREATE INDEX CONCURRENTLY).
 * @throws MigrationRefused an applied migration was edited, is missing on disk, or failed half-way
 * @throws Error another runner worked for longer than a minute · the signal's reason when aborted
 */
export async function migrate(options: MigrateOptions): Promise<readonly string[]> {
  const files = await migrationFiles(options.dir);
  return withClient(options.connectionString, async (client) => {
    // An index over a large table takes minutes, and may wait for hours. A runner that died must not keep the lock for
    // so long.
    await liftTimeLimits(client);
    await client.query(deadPeerSettings);
    await lockAgainstRunners(client, options);
    await client.query(bookkeepingTable);
    const records = await recordsOf(client);
    const newer = newerThan(files, records);
    if (newer.length > 0 && pendingOf(files, without(records, newer)).length === 0) {
      const names = newer.map(({ name }) => name).join(', ');
      options.log?.(`the schema is of a newer release, with the migrations ${names}`);
      return [];
    }
    const pending = pendingOf(files, records);
    for (const file of pending) {
      await apply(client, file, options);
      options.log?.(`applied ${file.name}`);
    }
    return pending.map((file) => file.name);
  });
}

/**
 * For a machine that vanished with its network, as in pool.ts. Shorter times would end the build of an index when the
 * network fails for some seconds.
 */
const deadPeerSettings = [
  'SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;',
  "SET tcp_user_timeout = '25s'",
].join(' ');

async function lockAgainstRunners(
  client: pg.Client,
  { log, signal }: MigrateOptions,
): Promise<void> {
  let isLogged = false;
  const isTaken = await takeLock(client, migrationLock, {
    pollMs: lockPollMs,
    ...(signal === undefined ? { timeoutMs: lockWaitMs } : { signal }),
    onWaiting() {
      if (!isLogged) log?.('waiting for another process that applies migrations');
      isLogged = true;
    },
  });
  if (isTaken) return;
  signal?.throwIfAborted();
  throw new Error('another migration holds the lock');
}

export interface MigrationStatus {
  readonly applied: readonly string[];
  readonly pending: readonly string[];
}

/**
 * What another process migrates now is pending.
 * @throws MigrationRefused as migrate does, except for migrations newer than this build, which are accepted
 */
export async function migrationStatus(options: MigrationOptions): Promise<MigrationStatus> {
  const files = await migrationFiles(options.dir);
  return withClient(options.connectionString, async (client) => {
    const { rows } = await client.query<{ exists: boolean }>(
      "SELECT to_regclass('_prisma_migrations') IS NOT NULL AS exists",
    );
    const records = rows[0]?.exists === true ? await recordsBesideARunner(client) : [];
    // A database migrated by a newer release also works: migrations only add (rolling deploys).
    const known = records.filter((record) => files.some((file) => file.name === record.name));
    const pending = pendingOf(files, known);
    return {
      applied: known.filter(({ finished }) => finished).map(({ name }) => name),
      pending: pending.map((file) => file.name),
    };
  });
}

const schemaPollMs = 250;

/**
 * Resolves once every migration of this build is applied. Also waits for a database that cannot be reached.
 * @throws MigrationRefused · the signal's reason when aborted
 */
export async function waitForCurrentSchema(
  options: MigrationOptions & {
    readonly signal?: AbortSignal;
    /** Called once for each new reason to wait. */
    readonly log?: (line: string) => void;
  },
): Promise<void> {
  let lastReason = '';
  for (;;) {
    options.signal?.throwIfAborted();
    const reason = await reasonToWait(options);
    if (reason === null) return;
    if (reason !== lastReason) options.log?.(reason);
    lastReason = reason;
    await delay(schemaPollMs, undefined, options.signal ? { signal: options.signal } : {});
  }
}

async function reasonToWait(options: MigrationOptions): Promise<string | null> {
  try {
    const { pending } = await migrationStatus(options);
    return pending.length === 0 ? null : `waiting for the migrations ${shortened(pending)}`;
  } catch (error) {
    if (!isConnectionLoss(error) && sqlStateOf(error) !== databaseMissing) throw error;
    return `waiting for PostgreSQL: ${reasonOf(error)}`;
  }
}

const namesShown = 3;

/** A new database waits for all of them. */
function shortened(names: readonly string[]): string {
  const more = names.length - namesShown;
  const shown = names.slice(0, namesShown).join(', ');
  return more > 0 ? `${shown} and ${more} more` : shown;
}

/** SQLSTATE: PostgreSQL answers, but the database does not exist yet. */
const databaseMissing = '3D000';

interface MigrationFile {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

async function migrationFiles(dir: string): Promise<readonly MigrationFile[]> {
  const entries = await readdir(dir, { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(path.join(dir, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

const bookkeepingTable = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id VARCHAR(36) PRIMARY KEY NOT NULL,
  checksum VARCHAR(64) NOT NULL,
  finished_at TIMESTAMPTZ,
  migration_name VARCHAR(255) NOT NULL,
  logs TEXT,
  rolled_back_at TIMESTAMPTZ,
  started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  applied_steps_count INTEGER NOT NULL DEFAULT 0)`;

interface MigrationRecord {
  readonly id: string;
  readonly name: string;
  readonly checksum: string;
  readonly finished: boolean;
}

async function recordsOf(client: pg.Client): Promise<readonly MigrationRecord[]> {
  const { rows } = await client.query<MigrationRecord>(
    `SELECT id, migration_name AS name, checksum, finished_at IS NOT NULL AS finished
     FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at, migration_name`,
  );
  return rows;
}

/** The records, without one that is unfinished because a runner is applying it. */
async function recordsBesideARunner(client: pg.Client): Promise<readonly MigrationRecord[]> {
  const records = await recordsOf(client);
  if (records.every(({ finished }) => finished)) return records;
  // A runner holds the lock until it has finished its records. If the lock is free, each of these records either is
  // finished by now or was left behind. An unfinished record that is not among them is of a runner that has begun since.
  const { rows } = await client.query<{ runs: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
       AND classid = 0 AND objid = $1
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS runs`,
    [migrationLock.key],
  );
  const leftBehind = rows[0]?.runs === true ? [] : records.map(({ id }) => id);
  const now = await recordsOf(client);
  return now.filter(({ id, finished }) => finished || leftBehind.includes(id));
}

function pendingOf(
  files: readonly MigrationFile[],
  records: readonly MigrationRecord[],
): readonly MigrationFile[] {
  for (const record of records) {
    const file = files.find(({ name }) => name === record.name);
    if (!record.finished && (!file || indexBuiltBy(file) === null))
      throw new MigrationRefused(`migration ${record.name} failed half-way: resolve it first`);
    if (!file)
      throw new MigrationRefused(`migration ${record.name} is in the database and not on disk`);
    if (file.checksum !== record.checksum)
      throw new MigrationRefused(`migration ${record.name} was edited after it was applied`);
  }
  const done = new Set(records.filter(({ finished }) => finished).map(({ name }) => name));
  return files.filter((file) => !done.has(file.name));
}

/** Migrations of later releases. Names begin with their time. */
function newerThan(
  files: readonly MigrationFile[],
  records: readonly MigrationRecord[],
): readonly MigrationRecord[] {
  const last = files.at(-1)?.name ?? '';
  return records.filter(({ name }) => name > last);
}

function without<T>(items: readonly T[], others: readonly T[]): readonly T[] {
  return items.filter((item) => !others.includes(item));
}

async function apply(
  client: pg.Client,
  file: MigrationFile,
  { log = () => undefined, slowAfterMs = defaultSlowAfterMs }: MigrateOptions,
): Promise<void> {
  const id = randomUUID();
  const isTransactional = !/^--\s*migrate:no-transaction/m.test(file.sql);
  // An index that is built concurrently holds up nobody. It waits for every transaction that began before it, for
  // example an audit. A limit would leave an invalid index.
  const waitMs = isTransactional ? tableWaitMs : 0;
  await client.query("SELECT set_config('lock_timeout', $1, false)", [String(waitMs)]);
  try {
    if (isTransactional)
      await untilUnlocked(
        () => inTransaction(client, () => applyAndRecord(client, id, file)),
        () => log(`${file.name} waits for a table that others use`),
      );
    else
      await withNotice(
        async () => {
          if (!(await isBuilt(client, file))) await applyAndRecord(client, id, file);
        },
        () => log(`${file.name} goes on: it may wait for transactions that began before it`),
        slowAfterMs,
      );
  } catch (cause) {
    const reason = reasonOf(cause);
    if (!isTransactional)
      // Best effort: on a lost connection the record stays unfinished, without a reason.
      await client
        .query('UPDATE _prisma_migrations SET logs = $2 WHERE id = $1', [id, reason])
        .catch(() => undefined);
    throw new Error(`migration ${file.name} failed: ${reason}`, { cause });
  }
}

/** The index that is all a migration makes, concurrently; null if it is another migration. */
function indexBuiltBy({ sql }: MigrationFile): string | null {
  return /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+) ON/m.exec(sql)?.[1] ?? null;
}

/**
 * What an earlier runner left of an index: the lock is ours, so its session has ended. An index that is whole gets its record.
 * An invalid one is dropped, with its record.
 */
async function isBuilt(client: pg.Client, file: MigrationFile): Promise<boolean> {
  const index = indexBuiltBy(file);
  if (index === null) return false;
  const { rows } = await client.query<{ id: string; isValid: boolean | null }>(
    `SELECT id, (SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($2)) AS "isValid"
       FROM _prisma_migrations
      WHERE migration_name = $1 AND finished_at IS NULL AND rolled_back_at IS NULL`,
    [file.name, index],
  );
  const [left] = rows;
  if (left === undefined) return false;
  if (left.isValid === true) {
    await finish(client, left.id);
    return true;
  }
  await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`);
  await client.query('DELETE FROM _prisma_migrations WHERE id = $1', [left.id]);
  return false;
}

/** `onSlow` is called once, after this time. */
async function withNotice(
  work: () => Promise<void>,
  onSlow: () => void,
  slowAfterMs: number,
): Promise<void> {
  const timer = setTimeout(onSlow, slowAfterMs);
  try {
    await work();
  } finally {
    clearTimeout(timer);
  }
}

/** Repeats `work` while tables are locked, for three minutes at least. `onWaiting` is called once. */
async function untilUnlocked(work: () => Promise<void>, onWaiting: () => void): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (sqlStateOf(error) !== lockNotAvailable || tries === tableTriesMax) throw error;
      if (tries === 1) onWaiting();
      await delay(tableRetryMs);
    }
  }
}

async function applyAndRecord(
  client: pg.ClientBase,
  id: string,
  { name, sql, checksum }: MigrationFile,
): Promise<void> {
  await client.query(
    'INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ($1, $2, $3)',
    [id, checksum, name],
  );
  // Without parameters: the simple protocol takes many statements.
  await client.query(sql);
  await finish(client, id);
}

async function finish(client: pg.ClientBase, id: string): Promise<void> {
  await client.query(
    `UPDATE _prisma_migrations SET finished_at = clock_timestamp(), applied_steps_count = 1
     WHERE id = $1`,
    [id],
  );
}

async function withClient<T>(
  connectionString: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionString,
    application_name: 'pis-migrate',
    connectionTimeoutMillis: connectTimeoutMs,
    // An index is awaited without a limit: a server that vanished must be noticed.
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveInitialDelayMs,
  });
  // A connection lost between two queries fails the next one; without a listener it ends the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await endSession(client);
  }
}
