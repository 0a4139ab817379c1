/**
 * What a failed handler means for its message: retry a few times and park (most errors), park at once
 * (NonRetryable), or retry for ever, because the fault is not the message's (isTransient).
 */

/** Thrown by a handler that knows that no retry will help: the message is parked at once. */
export class NonRetryable extends Error {
  override readonly name = 'NonRetryable';
}

export function isNonRetryable(error: unknown): boolean {
  return describe(error).name === 'NonRetryable';
}

/**
 * Whether something the handler depends on is away, so that every message would fail alike. Such an
 * error never parks: parking would empty the topic into the dead letters while a database restarts.
 */
export function isTransient(error: unknown): boolean {
  return chain(error).some(
    ({ name, code, message }) =>
      /Unavailable(Error)?$/.test(name) ||
      transientNames.has(name) ||
      transientCodes.has(code) ||
      postgresAway.test(code) ||
      untrusted.test(code) ||
      // pg reports a lost or unobtainable connection without any code.
      /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout)/.test(
        message,
      ),
  );
}

/**
 * SQLSTATEs that speak of the server, not of the statement. Classes: 08 connection exception, 28 invalid
 * authorization (a password being changed), 3D no such database, 40 rolled back (deadlock), 53 insufficient
 * resources, 57 operator intervention (shutdown, cancelled, timed out), 58 system error. Codes: 25006
 * a standby, 25P03 idle for too long, 42501 a right taken away, 42P01 the migrations are still to come,
 * 55P03 a lock not to be had.
 */
const postgresAway = /^((08|28|3D|40|53|57|58)[0-9A-Z]{3}|25006|25P03|42501|42P01|55P03)$/;

/** TLS: the other side's certificate has expired or is not one that we trust (Node's and OpenSSL's codes). */
const untrusted =
  /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_CERT|UNABLE_TO_(GET|VERIFY))/;

const transientNames = new Set(['PrismaClientInitializationError', 'ConnectTimeoutError']);

const transientCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  // Prisma: refused by the database, unreachable, timed out, no such database, no right, TLS, closed, pool exhausted.
  'P1000',
  'P1001',
  'P1002',
  'P1003',
  'P1008',
  'P1010',
  'P1011',
  'P1017',
  'P2024',
]);

/** One line for logs and dead letters, of bounded length and without the NUL that PostgreSQL refuses. */
export function errorText(error: unknown): string {
  const { name, message, code, type } = describe(error);
  const kind = type || code; // kafkajs says in `type` what its codes are only numbers for.
  const text = `${name}${kind === '' ? '' : ` (${kind})`}: ${message}`;
  return text.replaceAll('\0', '').slice(0, errorTextMax);
}

const errorTextMax = 1_000;

interface Link {
  readonly name: string;
  readonly code: string;
  readonly type: string;
  readonly message: string;
}

/** The error, its causes and the parts of an AggregateError (Node reports a refused connection so). */
function chain(error: unknown): Link[] {
  const links: Link[] = [];
  const waiting: unknown[] = [error];
  while (waiting.length > 0 && links.length < chainMax) {
    const next = waiting.shift();
    if (typeof next !== 'object' || next === null) continue;
    links.push(describe(next));
    if ('cause' in next) waiting.push(next.cause);
    if ('errors' in next && Array.isArray(next.errors)) waiting.push(...next.errors);
  }
  return links;
}

const chainMax = 16;

function describe(error: unknown): Link {
  if (typeof error !== 'object' || error === null) {
    return { name: 'Error', code: '', type: '', message: String(error) };
  }
  const text = (key: string): string => {
    const value: unknown = Reflect.get(error, key);
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  };
  return {
    name: text('name') || 'Error',
    code: text('code'),
    type: text('type'),
    message: text('message'),
  };
}
