import type pg from 'pg';
import { ownConnection } from './own-connection.js';
import { endSession } from './singleton.js';

/** Rows that are read at a time. */
const pageMax = 500;

/**
 * The rows of one query, however many. Whoever reads them may be slow, so they wait in the server (WITH HOLD), and no transaction stays
 * open. The session is none of the pool's: the pool may have a single one, which the caller needs for each row.
 * @param sql a SELECT
 * @throws connection errors
 */
export async function* heldRows<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  sql: string,
  values: readonly unknown[] = [],
): AsyncGenerator<Row, void, undefined> {
  const session = await ownConnection(pool);
  try {
    await session.query(`DECLARE held_rows NO SCROLL CURSOR WITH HOLD FOR ${sql}`, [...values]);
    for (;;) {
      const { rows } = await session.query<Row>(`FETCH ${pageMax} FROM held_rows`);
      yield* rows;
      if (rows.length < pageMax) return;
    }
  } finally {
    await endSession(session);
  }
}
