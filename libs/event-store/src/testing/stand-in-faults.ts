/** What a test can make the EventStoreDB stand-in do. */
import grpc, { type ServiceError } from '@grpc/grpc-js';

/**
 * - `hang`: nothing happens, no answer comes
 * - `unavailable`: nothing happens, gRPC's UNAVAILABLE is answered
 * - `unauthenticated`: nothing happens, the credentials are not taken
 * - `answerHangs`, `answerLost`: it happens, but no answer or UNAVAILABLE comes (appends alone)
 */
export type Fault = 'hang' | 'unavailable' | 'unauthenticated' | 'answerHangs' | 'answerLost';

export interface StandInFaults {
  /** Asked for each append, with its stream. */
  append: ((streamId: string) => Fault | null) | null;
  /** Asked for each read and subscription, with its stream or `$all`. */
  read: ((streamId: string) => 'hang' | 'unavailable' | 'unauthenticated' | null) | null;
}

export function unavailable(): ServiceError {
  return serviceError(grpc.status.UNAVAILABLE);
}

export function unauthenticated(): ServiceError {
  return serviceError(grpc.status.UNAUTHENTICATED);
}

function serviceError(code: grpc.status): ServiceError {
  const details = 'scripted by a test';
  return Object.assign(new Error(details), {
    code,
    details,
    metadata: new grpc.Metadata(),
  });
}
