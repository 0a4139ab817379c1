import { StoreUnavailable } from '@pis/event-store';
import { isTransient, patientRead, sqlStateOf } from '@pis/postgres';
import type pg from 'pg';

/** SQLSTATE of a missing table. The caller can tell the operator what to do. */
const tableMissing = '42P01';

/**
 * Runs a query of the read models. An unavailable database becomes a StoreUnavailable, which every caller
 * can handle.
 */
export async function orUnavailable<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (cause) {
    const isKnown = cause instanceof StoreUnavailable || sqlStateOf(cause) === tableMissing;
    if (isKnown || !isTransient(cause)) throw cause;
    throw new StoreUnavailable('the read models cannot be reached', { cause });
  }
}

/** The same for a read that takes as long as it needs. */
export function patientReadOrUnavailable<T>(
  pool: pg.Pool,
  read: (db: Pick<pg.Pool, 'query'>) => Promise<T>,
): Promise<T> {
  return orUnavailable(() => patientRead(pool, read));
}
