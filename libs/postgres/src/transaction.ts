import pg from 'pg';

/**
 * Runs `work` in a transaction: all of it is committed, or nothing and this rejects.
 *
 * `on` is a pool, which lends a connection for this transaction, or a session that the caller holds for
 * longer. After a failure a session is in no transaction, or lost. A connection of the pool is thrown away
 * instead: that rolls back without waiting for a server that may hang.
 */
export async function inTransaction<Result>(
  on: pg.Pool | pg.ClientBase,
  work: (client: pg.ClientBase) => Promise<Result>,
): Promise<Result> {
  if (on instanceof pg.Client)
    try {
      return await transaction(on, work);
    } catch (error) {
      // Fails only with the connection, and then the server rolls back.
      await on.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  const client = await (on as pg.Pool).connect();
  let isCommitted = false;
  try {
    const result = await transaction(client, work);
    isCommitted = true;
    return result;
  } finally {
    client.release(!isCommitted);
  }
}

async function transaction<Result>(
  client: pg.ClientBase,
  work: (client: pg.ClientBase) => Promise<Result>,
): Promise<Result> {
  await client.query('BEGIN');
  const result = await work(client);
  const { command } = await client.query('COMMIT');
  // PostgreSQL answers COMMIT with ROLLBACK when a statement failed before, and reports no error.
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back: a statement failed');
  return result;
}
