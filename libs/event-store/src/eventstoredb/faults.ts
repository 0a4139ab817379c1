/**
 * Translates the errors of an EventStoreDB client into those of the port. Both clients come from the same
 * makers and name their errors alike, by `type` and gRPC `code`, so this table works for both.
 */
import { types } from 'node:util';
import { StoreUnavailable } from '../port.js';

/**
 * - `conflict`: the stream is at another revision
 * - `tooLarge`, `refused`: the server answers, and a retry cannot help
 * - `notLeader`: the node follows another one, which it names
 * - `commitTimeout`: not replicated in time; the outcome is unknown until the append is repeated
 * - `credentials`, `rights`, `certificate`: an operator must change something
 * - `unreachable`: everything else; the outcome is unknown
 */
export type StoreFault =
  | 'conflict'
  | 'tooLarge'
  | 'refused'
  | 'notLeader'
  | 'commitTimeout'
  | 'credentials'
  | 'rights'
  | 'certificate'
  | 'unreachable';

const faultOfType: Readonly<Record<string, StoreFault>> = {
  'wrong-expected-version': 'conflict',
  'maximum-append-size-exceeded': 'tooLarge',
  'invalid-argument': 'refused',
  'stream-deleted': 'refused',
  'stream-not-found': 'refused',
  'not-leader': 'notLeader',
  timeout: 'commitTimeout',
  'access-denied': 'rights',
};

const grpcInvalidArgument = 3;
const grpcPermissionDenied = 7;
const grpcUnauthenticated = 16;
const grpcUnavailable = 14;
const ofCertificates = /certificate|self.signed|CERT_|unable to verify/i;

export function faultOf(error: unknown): StoreFault {
  if (!types.isNativeError(error)) return 'unreachable';
  if (error instanceof TypeError || error instanceof RangeError) return 'refused';
  const { type, code, message } = error as Error & { type?: unknown; code?: unknown };
  if (code === grpcUnauthenticated) return 'credentials';
  if (code === grpcPermissionDenied) return 'rights';
  const known = faultOfType[String(type)];
  if (known !== undefined) return known;
  if (code === grpcInvalidArgument) return 'refused';
  if (code === grpcUnavailable && ofCertificates.test(message)) return 'certificate';
  return 'unreachable';
}

/** Whether another node, or a new connection, may answer instead of this one. */
export const isOfTheConnection = {
  conflict: false,
  tooLarge: false,
  refused: false,
  notLeader: true,
  commitTimeout: false,
  credentials: false,
  rights: false,
  certificate: true,
  unreachable: true,
} as const satisfies Record<StoreFault, boolean>;

/** Some versions of the server name this reason, and others none. */
const ofNoPlace = /invalid position|Unexpected (Filtered)?ReadAllResult: Error/i;

/**
 * Whether the server cannot begin to read at a position, because no event begins there: a log that has lost events has
 * others by now, and they are not as long.
 */
export function isOfNoPlace(error: unknown): boolean {
  if (!types.isNativeError(error)) return false;
  return ofNoPlace.test(error.message) || isOfNoPlace(error.cause);
}

/** What an operator can do, where it is known. */
const remedyOf: Partial<Record<StoreFault, string>> = {
  credentials: 'EventStoreDB does not take the user and password of EVENTSTOREDB_URL: correct them',
  rights:
    'EventStoreDB denies the user of EVENTSTOREDB_URL a right: `pis event-store check` shows which one, ' +
    '`pis event-store apply` grants it',
  certificate:
    'the certificate of EventStoreDB is not trusted: name its CA with tlsCAFile in EVENTSTOREDB_URL',
};

/**
 * Everything that is not a known refusal means that the outcome is unknown. That includes denied rights:
 * they concern our credentials, affect every event, and an operator can fix them.
 */
export function classified(error: unknown): unknown {
  if (!types.isNativeError(error) || error instanceof StoreUnavailable) return error;
  const fault = faultOf(error);
  if (fault === 'refused') return error;
  const message = remedyOf[fault] ?? `EventStoreDB is unavailable: ${error.message}`;
  return new StoreUnavailable(message, { cause: error });
}

/** Rejects with StoreUnavailable when `answer` takes longer. Its later result is ignored. */
export async function within<Result>(answer: Promise<Result>, timeoutMs: number): Promise<Result> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new StoreUnavailable(`EventStoreDB did not answer in ${timeoutMs} ms`)),
    timeoutMs,
  );
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
