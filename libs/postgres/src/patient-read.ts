/**
 * Reads whose work grows with what there is. Almost all of them are short, and run on the pool. PostgreSQL would end a long one at the
 * time limit each time it is repeated, so it runs once more without one.
 */
import type pg from 'pg';
import { ownConnection } from './own-connection.js';
import { endSession } from './singleton.js';
import { isQueryCanceled } from './transient-errors.js';

/**
 * @param read only reads, because it may run twice
 * @throws what `read` throws, and connection errors
 */
export async function patientRead<Result>(
  pool: pg.Pool,
  read: (db: Pick<pg.Pool, 'query'>) => Promise<Result>,
): Promise<Result> {
  try {
    return await read(pool);
  } catch (error) {
    if (!isQueryCanceled(error)) throw error;
  }
  const session = await ownConnection(pool);
  try {
    return await read(session);
  } finally {
    await endSession(session);
  }
}
