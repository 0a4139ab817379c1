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

/**
 * Connections of one pool. A process has two: one for its queries and one for its event store. In all-in-one
 * each projection holds one of the first pool, and half of them must remain for queries.
 */
const poolMax = 12;

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
  { queryTimeoutMs = queryTimeoutDefaultMs }: { readonly queryTimeoutMs?: number } = {},
): pg.Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: poolMax,
    application_name: `pis-${app}`,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    // Without this, callers of a server that silently vanished wait for hours.
    query_timeout: queryTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveInitialDelayMs,
    options: serverSettings,
  });
  // The pool replaces an idle connection that breaks. Without a listener its error would end the process.
  pool.on('error', (error) => log.warn({ err: error }, 'lost an idle PostgreSQL connection'));
  // The pool listens to idle connections only. One in use that breaks fails its next statement.
  pool.on('connect', (client) =>
    client.on('error', (error) => log.debug({ err: error }, 'lost a PostgreSQL connection')),
  );
  return pool;
}
