import { StoreUnavailable } from '@pis/event-store';
import { isTransient, sqlStateOf } from '@pis/postgres';

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
