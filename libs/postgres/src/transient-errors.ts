/**
 * Decides for the whole service which errors are transient. Consumers retry such an error instead of parking
 * the message, loops continue, and the API answers 503 instead of 500.
 *
 * Decided by SQLSTATE, by the error codes of Node, TLS and Prisma, and by the mark that our own errors
 * carry. The name of a class decides nothing: another library may use the same name, and a rename would
 * go unnoticed.
 */

/**
 * SQLSTATE: the server cannot be reached or cannot work now. 08 connection exception, 53 insufficient
 * resources, 57P0x shutdown, 40001 serialization failure, 40P01 deadlock, 55P03 lock not available,
 * 57014 query canceled, 25006 read-only (a standby).
 */
const lostStates = /^(08...|53...|57P0.|40001|40P01|55P03|57014|25006)$/;

/**
 * SQLSTATE: the server answers but refuses every client. 28 a password being changed, 3D a database being
 * restored, 40 rolled back, 55000 a database that takes no connections now, 57 operator intervention, 58 its disk,
 * 25P03 idle for too long, 25P04 a transaction that took too long, 42501 a revoked right, 42P01 a table that the migrations
 * have yet to create.
 */
const refusingStates = /^(28...|3D...|40...|55000|57...|58...|25P0[34]|42501|42P01)$/;

/** SQLSTATE: the data is at fault. 22 data exception, 23 constraint violation, 54 program limit exceeded. */
const dataStates = /^(22|23|54)...$/;

/** A connection that broke under a query: the server restarted, or an operator ended the session. */
const brokenCodes = new Set(['ECONNRESET', 'EPIPE', '57P01', '57P02']);

/** The other side or the network is away, or this machine has none of what a connection takes: descriptors, ports, memory. */
const socketCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETRESET',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EAI_MEMORY',
  'EADDRNOTAVAIL',
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'ENOMEM',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** TLS: the certificate of the other side has expired, or we do not trust it. */
const untrusted =
  /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_CERT|UNABLE_TO_(GET|VERIFY))/;

/** Prisma: cannot reach, timed out, connection closed, no connection free. */
const prismaLost = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024']);
/** Prisma: refused by the database, no such database, no right, TLS. */
const prismaRefusing = new Set(['P1000', 'P1003', 'P1010', 'P1011']);

/** What pg and pg-pool throw without a code. There is nothing else to recognize these errors by. */
const codelessMessages =
  /^(Connection terminated|timeout expired$|timeout exceeded when trying to connect|Query read timeout|Client (has encountered a connection error|was closed) and is not queryable|Cannot use a pool after calling end)/;

/** Waiting may help: a dependency is unavailable, and the caller's data is not at fault. */
export function isTransient(error: unknown): boolean {
  return (
    isConnectionLoss(error) ||
    someLink(
      error,
      (link) =>
        link.isUnavailable ||
        refusingStates.test(link.code) ||
        prismaRefusing.has(link.code) ||
        untrusted.test(link.code),
    )
  );
}

/** The database cannot be reached. A transient refusal does not count: at boot it is reported at once. */
export function isConnectionLoss(error: unknown): boolean {
  return someLink(
    error,
    ({ code, message }) =>
      lostStates.test(code) ||
      socketCodes.has(code) ||
      prismaLost.has(code) ||
      codelessMessages.test(message),
  );
}

/** The connection broke under this query. The same query on a new connection may succeed at once. */
export function isBrokenConnection(error: unknown): boolean {
  const { code, message } = linkOf(error);
  return brokenCodes.has(code) || (code === '' && message.startsWith('Connection terminated'));
}

/**
 * PostgreSQL ended the query: it ran into `statement_timeout`, or an operator canceled it. It is transient, but a query
 * that is too large ends so every time: a loop that repeats it must count.
 */
export function isQueryCanceled(error: unknown): boolean {
  return someLink(error, ({ code }) => code === '57014');
}

/** PostgreSQL will never take this data: a retry is useless. */
export function isDataError(error: unknown): boolean {
  return dataStates.test(sqlStateOf(error));
}

/** A row is there already. Its statement wrote nothing. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlStateOf(error) === '23505';
}

/** The SQLSTATE of an error that pg threw, empty for any other error. */
export function sqlStateOf(error: unknown): string {
  const { code } = linkOf(error);
  return /^[0-9A-Z]{5}$/.test(code) && !socketCodes.has(code) ? code : '';
}

/** The message of an error, or its code if it has no message. */
export function reasonOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const { message, code } = linkOf(error);
  return message || code;
}

/** An error, a cause of it, or a part of an AggregateError. */
interface Link {
  /** Empty without one. */
  readonly code: string;
  readonly message: string;
  readonly isUnavailable: boolean;
}

/** Errors looked at, at most: a chain of causes may be circular. */
const linksMax = 16;

function someLink(error: unknown, fits: (link: Link) => boolean): boolean {
  const waiting: unknown[] = [error];
  for (let looked = 0; looked < linksMax && waiting.length > 0; looked += 1) {
    const next = waiting.shift();
    if (typeof next !== 'object' || next === null) continue;
    if (fits(linkOf(next))) return true;
    // Node reports one error for each address that it tried; Prisma keeps what the driver said in `meta`.
    const { cause, errors, meta } = next as ErrorShape;
    waiting.push(cause, meta?.driverAdapterError);
    if (Array.isArray(errors)) waiting.push(...errors.slice(0, linksMax));
  }
  return false;
}

/** By shape, not by `instanceof`: errors of Node's own sockets may come from another realm. */
interface ErrorShape {
  readonly message?: unknown;
  readonly code?: unknown;
  /** The shape of Prisma's error when the client could not connect at all. */
  readonly errorCode?: unknown;
  /** The mark of our own errors: something the service depends on cannot be reached, so every call would fail alike. */
  readonly isUnavailable?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
  readonly meta?: { readonly driverAdapterError?: unknown } | null;
}

function linkOf(error: unknown): Link {
  if (typeof error !== 'object' || error === null)
    return { code: '', message: '', isUnavailable: false };
  const { code, errorCode, message, isUnavailable } = error as ErrorShape;
  return {
    code: textOf(code) || textOf(errorCode),
    message: textOf(message),
    isUnavailable: isUnavailable === true,
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
