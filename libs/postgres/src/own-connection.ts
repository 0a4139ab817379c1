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
  // This also overrides settings of the user and of the database.
  await client.query('SET statement_timeout = 0');
  await client.query('SET idle_in_transaction_session_timeout = 0');
  // A statement of a killed process would keep its locks and its snapshot to its end. Not every platform has it.
  await client.query(`SET client_connection_check_interval = '2s'`).catch(() => undefined);
  return client;
}
