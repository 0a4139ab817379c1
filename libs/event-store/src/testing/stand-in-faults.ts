/** The faults that a test can inject into the EventStoreDB stand-in. */
import grpc, { type Metadata, type ServiceError } from '@grpc/grpc-js';

/**
 * - `hang`: nothing happens, no answer comes
 * - `unavailable`: nothing happens, gRPC's UNAVAILABLE is answered
 * - `unauthenticated`: nothing happens, the credentials are rejected
 * - `answerHangs`, `answerLost`: it happens, but no answer or UNAVAILABLE comes (appends alone)
 */
export type Fault = 'hang' | 'unavailable' | 'unauthenticated' | 'answerHangs' | 'answerLost';

export interface StandInFaults {
  /** Asked for each append, with its stream. */
  append: ((streamId: string) => Fault | null) | null;
  /** Asked for each read and subscription, with its stream or `$all`. */
  read: ((streamId: string) => 'hang' | 'unavailable' | 'unauthenticated' | null) | null;
  /** What a read is told that begins where no event does. */
  noPlace: NoPlace;
}

/** `named` by newer servers. */
export type NoPlace = 'named' | 'unnamed';

/** How a node ends the subscriptions it serves. */
export const subscriptionEnds = ['ended', 'cancelled', 'unavailable', 'notReady'] as const;
export type SubscriptionEnd = (typeof subscriptionEnds)[number];

export function unavailable(details?: string): ServiceError {
  return serviceError(grpc.status.UNAVAILABLE, details);
}

/** From a node that has not found its place in the cluster. */
export function notReady(): ServiceError {
  return unavailable('Server Is Not Ready');
}

export function unauthenticated(): ServiceError {
  return serviceError(grpc.status.UNAUTHENTICATED);
}

export function cancelled(): ServiceError {
  return serviceError(grpc.status.CANCELLED, 'Operation was cancelled');
}

/** As the server answers a write that was not replicated in time. */
export function commitTimeout(): ServiceError {
  return serviceError(grpc.status.ABORTED, 'Operation timed out: Commit phase timeout');
}

/** A follower's answer to a call that requires the leader. */
export function notLeader({ host, port }: { host: string; port: number }): ServiceError {
  const metadata = new grpc.Metadata();
  metadata.set('exception', 'not-leader');
  metadata.set('leader-endpoint-host', host);
  metadata.set('leader-endpoint-port', String(port));
  return serviceError(grpc.status.NOT_FOUND, 'Leader info available', metadata);
}

export function accessDenied(): ServiceError {
  const metadata = new grpc.Metadata();
  metadata.set('exception', 'access-denied');
  return serviceError(grpc.status.PERMISSION_DENIED, 'Access Denied', metadata);
}

export function noPlace(how: NoPlace): ServiceError {
  return how === 'named'
    ? serviceError(grpc.status.INVALID_ARGUMENT, 'Trying to read from an invalid position.')
    : serviceError(grpc.status.UNKNOWN, 'Unexpected ReadAllResult: Error');
}

/** One append that is larger than the server takes. */
export function tooLarge(): ServiceError {
  const metadata = new grpc.Metadata();
  metadata.set('exception', 'maximum-append-size-exceeded');
  metadata.set('maximum-append-size', '1048576');
  return serviceError(grpc.status.INVALID_ARGUMENT, 'Maximum Append Size Exceeded', metadata);
}

function serviceError(
  code: grpc.status,
  details = 'scripted by a test',
  metadata: Metadata = new grpc.Metadata(),
): ServiceError {
  return Object.assign(new Error(details), { code, details, metadata });
}
