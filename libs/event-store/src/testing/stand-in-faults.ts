/** What a test can make the EventStoreDB stand-in do. */
import grpc, { type ServiceError } from '@grpc/grpc-js';

/**
 * - `hang`: nothing happens, no answer comes
 * - `unavailable`: nothing happens, gRPC's UNAVAILABLE is answered
 * - `answerHangs`, `answerLost`: it happens, but no answer or UNAVAILABLE comes (appends alone)
 */
export type Fault = 'hang' | 'unavailable' | 'answerHangs' | 'answerLost';

export interface StandInFaults {
  /** Asked for each append, with its stream. */
  append: ((streamId: string) => Fault | null) | null;
  /** Asked for each read and subscription, with its stream or `$all`. */
  read: ((streamId: string) => 'hang' | 'unavailable' | null) | null;
}

export function unavailable(): ServiceError {
  const details = 'scripted by a test';
  return Object.assign(new Error(details), {
    code: grpc.status.UNAVAILABLE,
    details,
    metadata: new grpc.Metadata(),
  });
}
