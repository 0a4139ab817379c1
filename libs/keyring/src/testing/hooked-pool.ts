/** A pool that tells a test of each statement, and fails where the test says so. */
import type pg from 'pg';

export interface Statement {
  /** From 0. */
  readonly index: number;
  readonly moment: 'before' | 'after';
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** @param hook a statement fails when it throws; after a statement, its work is done nevertheless */
export function hookedPool(
  pool: pg.Pool,
  hook: (statement: Statement) => Promise<void> | void,
): pg.Pool {
  let count = 0;
  const hooked = (on: pg.Pool | pg.PoolClient) => async (text: string, values?: unknown[]) => {
    const statement = { index: count++, text, ...(values === undefined ? {} : { values }) };
    await hook({ ...statement, moment: 'before' });
    const result: unknown = await on.query(text, values);
    await hook({ ...statement, moment: 'after' });
    return result;
  };
  const connect = async () => {
    const client = await pool.connect();
    return { query: hooked(client), release: (lost?: boolean) => client.release(lost) };
  };
  return { query: hooked(pool), connect } as unknown as pg.Pool;
}
