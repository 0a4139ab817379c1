import pg from 'pg';
import { sessionsOf } from './pool.js';

/**
 * A connection like those of the pool, but without time limits: to index, vacuum or compare millions of rows takes
 * minutes. The caller ends it (`endSession`).
 */
export async function ownConnection(pool: pg.Pool): Promise<pg.Client> {
  const client = new pg.Client({
    ...sessionsOf(pool).options,
    statement_timeout: 0,
    query_timeout: 0,
  });
  // A lost connection fails the next query; without a listener it ends the process.
  client.on('error', () => undefined);
  await client.connect();
  await liftTimeLimits(client);
  return client;
}

/**
 * Statements and transactions of the session take as long as they need, whatever limits the role or the database has. In
 * return, PostgreSQL ends a statement within 2 seconds when its process has died: it would keep its locks and its
 * snapshot to its end.
 */
export async function liftTimeLimits(client: pg.ClientBase): Promise<void> {
  await client.query('SET statement_timeout = 0');
  await client.query('SET idle_in_transaction_session_timeout = 0');
  // Since PostgreSQL 17.
  await client.query('SET transaction_timeout = 0').catch(() => undefined);
  // Not on every platform.
  await client.query("SET client_connection_check_interval = '2s'").catch(() => undefined);
}
