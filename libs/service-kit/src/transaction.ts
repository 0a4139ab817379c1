import type pg from 'pg';

/**
 * Runs `work` in a transaction of its own. Fails with what `work` or PostgreSQL throws; the
 * connection is then thrown away, which rolls back and gives up its locks, also when it hangs.
 */
export async function inTransaction<Result>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let committed = false;
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    committed = true;
    return result;
  } finally {
    client.release(!committed);
  }
}
