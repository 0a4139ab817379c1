/**
 * Queries of the PostgreSQL event store: named prepared statements with a time limit and one retry after a
 * lost connection. Every external fault becomes StoreUnavailable.
 */
import { types } from 'node:util';
import { isBrokenConnection, isDataError } from '@pis/postgres';
import type pg from 'pg';
import { StoreUnavailable } from '../port.js';

export interface Statement {
  /** Of the prepared statement on each connection. */
  readonly name: string;
  readonly text: string;
}

export type Query = <Row>(statement: Statement, values: readonly unknown[]) => Promise<Row[]>;

/**
 * Everything sent through it may be sent twice: reads, and appends, whose event ids make them
 * idempotent. That is why a lost connection may be answered by one more try.
 * @param onFailure called when a connection is lost or PostgreSQL is unavailable
 */
export function database(
  pool: pg.Pool,
  queryTimeoutMs: number,
  onFailure: () => void = () => undefined,
): Query {
  const once = async <Row>({ name, text }: Statement, values: readonly unknown[]) => {
    // query_timeout ends the connection; it does not cover the wait for a free one, `within` does.
    const config = { name, text, values: [...values], query_timeout: queryTimeoutMs };
    const result = await within(pool.query(config), queryTimeoutMs);
    return result.rows as Row[];
  };
  const failed = (error: unknown) => {
    const reason = classified(error);
    if (reason instanceof StoreUnavailable) onFailure();
    return reason;
  };
  return async <Row>(statement: Statement, values: readonly unknown[]) => {
    try {
      return await once<Row>(statement, values);
    } catch (error) {
      if (!isBrokenConnection(error)) throw failed(error);
      onFailure();
    }
    try {
      return await once<Row>(statement, values);
    } catch (error) {
      throw failed(error);
    }
  };
}

async function within<Result>(answer: Promise<Result>, timeoutMs: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    // Created when needed: the stack of an error per query costs as much as the query itself.
    timer = setTimeout(() => {
      reject(new StoreUnavailable(`PostgreSQL did not answer in ${timeoutMs} ms`));
    }, timeoutMs);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Only data that PostgreSQL never accepts is the caller's fault. A retry may help with everything else. */
function classified(error: unknown): unknown {
  if (error instanceof StoreUnavailable) return error;
  if (!types.isNativeError(error) || isDataError(error)) return error;
  return new StoreUnavailable(`PostgreSQL is unavailable: ${error.message}`, { cause: error });
}
