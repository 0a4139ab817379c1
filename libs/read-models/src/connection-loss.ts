/** Which errors of `pg` and Prisma mean "the database is away, try again", and not "the query is wrong". */
import { StoreUnavailable } from '@pis/event-store';

/** SQLSTATE classes and codes: connection exceptions, resources, shutdown, deadlock, cancellation. */
const lost = /^(08|53|57P0|40001$|40P01$|55P03$|57014$|25006$)/;
/**
 * And those of a server that does not serve us as it did: 28 a password being changed, 3D a database being
 * restored, 58 its disk, 25P03 idle for too long, 42501 a right taken away. Beside `lost` they are
 * the list of libs/messaging (errors.ts); a test of service-kit holds the two together.
 */
const refusing = /^(28|3D|40|57|58|25P03$|42501$)/;
const socketErrors = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
/** Prisma: cannot reach, timed out, closed the connection, pool timeout. */
const prismaLost = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024']);
/** Refused by the database, no such database, no right, TLS. */
const prismaRefusing = new Set(['P1000', 'P1003', 'P1010', 'P1011']);
/** What pg throws without a code. */
const messages =
  /Connection terminated|timeout exceeded when trying to connect|Query read timeout|not queryable|timeout expired|Cannot use a pool after|client is closed/i;

const causesMax = 5;

/** By shape, not `instanceof`: errors of Node's own sockets can come from another realm. */
interface ErrorShape {
  readonly message: string;
  readonly code?: unknown;
  readonly cause?: unknown;
  /** Where Prisma keeps what the driver said. */
  readonly meta?: { readonly driverAdapterError?: unknown } | undefined;
  /** Of an AggregateError: one for each address that was tried. */
  readonly errors?: unknown;
}

function isErrorShape(value: unknown): value is ErrorShape {
  return (
    typeof value === 'object' &&
    value !== null &&
    'message' in value &&
    typeof value.message === 'string'
  );
}

export function isConnectionLoss(error: unknown): boolean {
  return someInChain(
    error,
    ({ code, message }) =>
      lost.test(code) || socketErrors.has(code) || prismaLost.has(code) || messages.test(message),
  );
}

/** Also when it can be reached and turns everybody away, which at boot is said rather than waited for. */
function isAway(error: unknown): boolean {
  const refuses = ({ code }: Link) => refusing.test(code) || prismaRefusing.has(code);
  return isConnectionLoss(error) || someInChain(error, refuses);
}

interface Link {
  /** Empty without one. */
  readonly code: string;
  readonly message: string;
}

function someInChain(error: unknown, fits: (link: Link) => boolean): boolean {
  let current = error;
  for (let depth = 0; depth < causesMax && isErrorShape(current); depth++) {
    const { code, message, errors, cause, meta } = current;
    if (fits({ code: typeof code === 'string' ? code : '', message })) return true;
    if (Array.isArray(errors) && errors.some((part) => someInChain(part, fits))) return true;
    current = cause ?? meta?.driverAdapterError;
  }
  return false;
}

/** Runs a query so that a database that is away is a StoreUnavailable, which every caller knows to wait for. */
export async function orUnavailable<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (cause) {
    if (!isAway(cause)) throw cause;
    throw new StoreUnavailable('the read models cannot be reached', { cause });
  }
}

/** For loops that go on by themselves: what time may mend. */
export function isTransient(error: unknown): boolean {
  if (isAway(error)) return true;
  if (isErrorShape(error) && 'name' in error && error.name === 'StoreUnavailable') return true;
  // A table that is not there: the migrations are still to come.
  return isErrorShape(error) && error.code === '42P01';
}

export function reasonOf(error: unknown): string {
  return isErrorShape(error) ? error.message || String(error.code) : String(error);
}
