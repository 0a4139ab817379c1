/** What the EventStoreDB client throws, in the port's words; and a time limit for what has none. */
import { types } from 'node:util';
import {
  InvalidArgumentError,
  MaxAppendSizeExceededError,
  StreamDeletedError,
  StreamNotFoundError,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import {
  EventTooLarge,
  type ExpectedRevision,
  StoreUnavailable,
  WrongExpectedRevision,
} from '../port.js';

/**
 * Refused by a server that answers: waiting does not cure them. AccessDeniedError is not among them: it
 * speaks of our credentials, fails every event alike, and is cured by whoever changes them.
 */
const refusals = [InvalidArgumentError, StreamDeletedError, StreamNotFoundError];

/**
 * Everything that is not known to be a refusal means that the outcome is unknown. The client throws
 * typed errors, raw gRPC errors (`code` 14 from an append to a server that is down) and plain ones (a
 * cluster that is not discovered).
 */
export function classified(error: unknown): unknown {
  if (!types.isNativeError(error) || error instanceof StoreUnavailable) return error;
  if (error instanceof TypeError || error instanceof RangeError) return error;
  if (refusals.some((refusal) => error instanceof refusal)) return error;
  return new StoreUnavailable(`EventStoreDB is unavailable: ${error.message}`, { cause: error });
}

export function classifiedAppend(
  error: unknown,
  streamId: string,
  expected: ExpectedRevision,
  sizeBytes: number,
): unknown {
  if (error instanceof WrongExpectedVersionError) {
    const { actualVersion } = error;
    const actual = typeof actualVersion === 'bigint' ? Number(actualVersion) : 'noStream';
    return new WrongExpectedRevision(streamId, expected, actual);
  }
  if (error instanceof MaxAppendSizeExceededError) return new EventTooLarge(streamId, sizeBytes);
  return classified(error);
}

/** Rejects as StoreUnavailable when `answer` takes longer; what it does later is ignored. */
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
