/** The connection pool of an app, with limits that hold when a server or a network disappears. */
import pg from 'pg';

const connectTimeoutMs = 5_000;
const statementTimeoutMs = 30_000;
/** Longer than the server's own limit: it covers a server that can no longer keep that limit. */
const queryTimeoutDefaultMs = 35_000;
/** For connections that only wait, such as those that hold a lock. */
const keepAliveInitialDelayMs = 10_000;

/**
 * PostgreSQL drops a dead peer within 30 seconds, which releases the locks of its session. The first
 * three settings cover an idle connection, the last one a connection with an unacknowledged answer. The
 * defaults of the operating system are two hours and a quarter of an hour.
 */
const serverSettings = [
  '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3',
  '-c tcp_user_timeout=25000',
].join(' ');

/** Longer than the half minute between rounds of an idle process: a new connection costs more than they do. */
const idleTimeoutMs = 35_000;
const poolMaxDefault = 12;

export interface PoolOptions {
  /** The most connections at a time. */
  readonly max?: number;
  readonly queryTimeoutMs?: number;
  /**
   * The server itself, if the pool's URL is that of a pooler which lends a session for one transaction at a
   * time (PgBouncer). Locks and whatever else a session keeps then use this address.
   */
  readonly directUrl?: string | undefined;
}

/** The pools for sessions that hold locks, of the pools behind a pooler. */
const sessionPools = new WeakMap<pg.Pool, pg.Pool>();

/** Whose connections keep what is set in them: session locks, settings. Mostly the pool itself. */
export function sessionsOf(pool: pg.Pool): pg.Pool {
  return sessionPools.get(pool) ?? pool;
}

/**
 * Sends every statement unnamed. A named one exists in a single session of the server, and a pooler may
 * send its next execution to another session.
 */
class UnnamedStatements extends pg.Client {}
UnnamedStatements.prototype.query = function (
  this: UnnamedStatements,
  config: unknown,
  ...rest: unknown[]
) {
  // Looked up at each call: tracing replaces it.
  const query = pg.Client.prototype.query as (...args: unknown[]) => unknown;
  return query.call(this, hasName(config) ? { ...config, name: undefined } : config, ...rest);
} as typeof pg.Client.prototype.query;

function hasName(config: unknown): config is { readonly name: string } {
  return typeof config === 'object' && config?.constructor === Object && 'name' in config;
}

/** Receives reports of lost connections. Every logger of pino fits. */
export interface PoolLog {
  warn(fields: { readonly err: Error }, message: string): void;
  debug(fields: { readonly err: Error }, message: string): void;
}

/** Creating it does no I/O: the first query connects. */
export function createPool(
  databaseUrl: string,
  app: string,
  log: PoolLog,
  { directUrl, ...limits }: PoolOptions = {},
): pg.Pool {
  if (directUrl === undefined) return directPool(databaseUrl, app, log, limits);
  const sessions = directPool(directUrl, `${app}-sessions`, log, limits);
  // A pooler refuses settings at the start of a connection that it does not know. The server's own must do.
  const pool = logged(
    new pg.Pool({ ...common(databaseUrl, app, limits), Client: UnnamedStatements }),
    log,
  );
  const end = pool.end.bind(pool) as () => Promise<void>;
  pool.end = (async () => {
    await Promise.all([end(), sessions.end()]);
  }) as pg.Pool['end'];
  sessionPools.set(pool, sessions);
  return pool;
}

/**
 * Whether connections to this address are encrypted, with a server whose certificate was checked: by `sslmode` and what else
 * the driver reads.
 */
export function isProtected(databaseUrl: string): boolean {
  const { ssl } = new pg.Client({ connectionString: databaseUrl }) as { readonly ssl?: unknown };
  if (ssl === undefined || ssl === null || ssl === false) return false;
  return (ssl as { readonly rejectUnauthorized?: boolean }).rejectUnauthorized !== false;
}

type Limits = Omit<PoolOptions, 'directUrl'>;

function directPool(url: string, app: string, log: PoolLog, limits: Limits): pg.Pool {
  return logged(
    new pg.Pool({
      ...common(url, app, limits),
      statement_timeout: statementTimeoutMs,
      options: serverSettings,
    }),
    log,
  );
}

function common(url: string, app: string, limits: Limits): pg.PoolConfig {
  const { max = poolMaxDefault, queryTimeoutMs = queryTimeoutDefaultMs } = limits;
  return {
    connectionString: url,
    max,
    application_name: `pis-${app}`,
    connectionTimeoutMillis: connectTimeoutMs,
    // Without this, callers of a server that silently vanished wait for hours.
    query_timeout: queryTimeoutMs,
    idleTimeoutMillis: idleTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveInitialDelayMs,
  };
}

function logged(pool: pg.Pool, log: PoolLog): pg.Pool {
  // The pool replaces an idle connection that breaks. Without a listener its error would end the process.
  pool.on('error', (error) => {
    // A server that stops right after its client ends connections before it reads their farewell.
    const report = pool.ending ? log.debug.bind(log) : log.warn.bind(log);
    report({ err: error }, 'lost an idle PostgreSQL connection');
  });
  // The pool listens to idle connections only. One in use that breaks fails its next statement.
  pool.on('connect', (client) =>
    client.on('error', (error) => log.debug({ err: error }, 'lost a PostgreSQL connection')),
  );
  return pool;
}

/** The one connection that waits for notifications. */
const listeners = 1;

/** How a process divides its connections between its queries and its event store. */
export function poolSizes(connectionsMax: number): {
  readonly queries: number;
  readonly store: number;
} {
  const store = Math.floor((connectionsMax - listeners) / 2);
  return { queries: connectionsMax - listeners - store, store };
}
