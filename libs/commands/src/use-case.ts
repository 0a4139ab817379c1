/** The shared parts of the use cases: their dependencies and refusals. */
import type { RoutingDirectory } from '@pis/bank-rails';
import type { Problem } from '@pis/contracts';
import type { Contact, Originator, Refusal } from '@pis/domain';
import type { EventStore, Position, StreamStates } from '@pis/event-store';
import { KeyDestroyed, type Keyring } from '@pis/keyring';

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

/** Of use cases that look up banks. */
export interface BankUseCaseOptions extends UseCaseOptions {
  readonly banks: RoutingDirectory;
}

/** The request's fields are not valid. `problems` has all of them. */
export interface InvalidRequest extends Refusal<'INVALID_REQUEST'> {
  readonly problems: readonly Problem[];
}

export function invalidRequest(problems: readonly Problem[]): InvalidRequest {
  return { refused: 'INVALID_REQUEST', problems };
}

/**
 * Whether a request of this organization may use a party. One that is being erased exists for nobody. Neither
 * does one that was noted only to erase it.
 */
export function isUsable<Party extends Contact | Originator>(
  party: Party | null,
  organizationId: string,
): party is Party {
  const isUnsaved = party !== null && 'unsaved' in party;
  return party?.organizationId === organizationId && party.erasure === null && !isUnsaved;
}

/**
 * The result, or the refusal when a party was erased meanwhile: what is to be recorded cannot be sealed then.
 */
export async function unlessErased<Result, Refused extends Refusal>(
  work: Promise<Result>,
  refusalOf: (owner: string) => Refused,
): Promise<Result | Refused> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof KeyDestroyed) return refusalOf(error.owner);
    throw error;
  }
}

/** A result that is not a refusal. */
type Granted = object & { readonly refused?: never };

/**
 * Makes the function that returns the result of a use case, or throws for a refusal. A refusal that `errorOf`
 * does not know does not compile.
 */
export function grantedOrThrow<Refused extends Refusal>(
  errorOf: (refusal: Refused) => Error,
): <Result extends Granted | Refused>(
  result: Result,
) => Exclude<Result, { readonly refused: string }> {
  return <Result extends Granted | Refused>(result: Result) => {
    if (isRefused<Refused>(result)) throw errorOf(result);
    return result as Exclude<Result, { readonly refused: string }>;
  };
}

function isRefused<Refused extends Refusal>(result: Granted | Refused): result is Refused {
  return result.refused !== undefined;
}

/** For a caller that already knows that nothing is refused. @throws Error for a refusal */
export const unrefused = grantedOrThrow<Refusal>(({ refused }) => new Error(`refused: ${refused}`));

export function now(): string {
  return new Date().toISOString();
}
