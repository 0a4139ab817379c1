import { StoreUnavailable } from '@pis/event-store';
import { isTransient, sqlStateOf } from '@pis/postgres';

/** SQLSTATE of a table that does not exist: the caller can say what to do about it. */
const tableMissing = '42P01';

/**
 * Runs a query of the read models. A database that is away becomes a StoreUnavailable, which every caller
 * knows how to wait for.
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
