/**
 * Queries of the PostgreSQL event store: named prepared statements with a time limit, one retry when
 * the connection was lost, and every fault of the outside as StoreUnavailable.
 */
import { types } from 'node:util';
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
 */
export function database(pool: pg.Pool, queryTimeoutMs: number): Query {
  const once = async <Row>({ name, text }: Statement, values: readonly unknown[]) => {
    // query_timeout ends the connection; it does not cover the wait for a free one, `within` does.
    const config = { name, text, values: [...values], query_timeout: queryTimeoutMs };
    const result = await within(pool.query(config), queryTimeoutMs);
    return result.rows as Row[];
  };
  return async <Row>(statement: Statement, values: readonly unknown[]) => {
    try {
      return await once<Row>(statement, values);
    } catch (error) {
      if (!isConnectionLost(error)) throw classified(error);
    }
    try {
      return await once<Row>(statement, values);
    } catch (error) {
      throw classified(error);
    }
  };
}

async function within<Result>(answer: Promise<Result>, timeoutMs: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    // Made when it is needed: the stack of an error per query costs as much as the query's own work.
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

/** A connection that broke under a query: the server restarted, or an operator ended the backend. */
function isConnectionLost(error: unknown): boolean {
  if (!types.isNativeError(error)) return false;
  const code = codeOf(error);
  return (
    ['ECONNRESET', 'EPIPE', '57P01', '57P02'].includes(code) ||
    (code === '' && error.message.startsWith('Connection terminated'))
  );
}

/**
 * SQLSTATE classes that speak of the data sent, not of the server: 22 data exception, 23 integrity
 * constraint violation, 54 program limit exceeded. Waiting does not cure them; it may cure the rest.
 */
const dataFaultClasses = ['22', '23', '54'];

function classified(error: unknown): unknown {
  if (error instanceof StoreUnavailable) return error;
  if (!types.isNativeError(error) || dataFaultClasses.includes(codeOf(error).slice(0, 2)))
    return error;
  return new StoreUnavailable(`PostgreSQL is unavailable: ${error.message}`, { cause: error });
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}
