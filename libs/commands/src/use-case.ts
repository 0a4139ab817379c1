/** What the use cases have in common: what they work on, and how they refuse. */
import type { Problem } from '@pis/contracts';
import type { Refusal } from '@pis/domain';
import type { EventStore, Position, StreamStates } from '@pis/event-store';
import type { Keyring } from '@pis/keyring';

/** Receives how far a list must be projected to show what a use case wrote or read. */
export interface OwnWrites {
  /** `position` is null when nothing was appended or read. */
  note(writeKey: 'payments' | 'directory', organizationId: string, position: Position | null): void;
}

export interface UseCaseOptions {
  readonly store: EventStore;
  readonly keyring: Keyring;
  readonly ownWrites: OwnWrites;
  /** Shared by the use cases of a process. */
  readonly states: StreamStates;
}

/** The request's fields are not valid. `problems` has all of them. */
export interface InvalidRequest extends Refusal<'INVALID_REQUEST'> {
  readonly problems: readonly Problem[];
}

export function invalidRequest(problems: readonly Problem[]): InvalidRequest {
  return { refused: 'INVALID_REQUEST', problems };
}

/** The result where a refusal would be a fault of the caller. @throws Error for a refusal */
export function unrefused<Result extends object>(
  result: Result,
): Exclude<Result, { readonly refused: string }> {
  if ('refused' in result) throw new Error(`refused: ${String(result.refused)}`);
  return result as Exclude<Result, { readonly refused: string }>;
}

export function now(): string {
  return new Date().toISOString();
}
