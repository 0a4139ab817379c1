/**
 * Erasure of a person: the steps that a contact and an originator go through alike.
 *
 *   (none) ──► requested ──► confirmed ──► erased
 *     ▲            │
 *     └────────────┘ withdrawn: a payment is not final, or the retention period runs
 *
 * From the request on, the party cannot be paid or changed. The checks are made after that. A confirmed
 * erasure is never withdrawn: its keys may be destroyed.
 *
 * Each run of the command makes a request of its own, which replaces an earlier one. A run can only confirm
 * or withdraw its own request, because it has checked nothing since another one.
 */
import { type Decision, type DomainCommand, type DomainEvent, unreachable } from './decider.js';
import type { EntityType } from './party.js';

export type ErasurePhase = 'requested' | 'confirmed' | 'erased';

export interface ErasureRequest {
  /** Recorded for good. Operators are asked to keep it free of personal data. */
  readonly reason: string;
  /** Who asked for it. */
  readonly by: string;
  /** Whether it is to happen although the retention period still runs. */
  readonly overridesRetention: boolean;
  /** Tells the runs of the command apart. Absent in older events, which nobody confirms any more. */
  readonly requestId?: string;
}

/** `INTERRUPTED`: the checks could not be made. */
export type WithdrawalCause = 'PAYMENTS_NOT_FINAL' | 'RETENTION_RUNNING' | 'INTERRUPTED';

/** What is left to say of somebody who was erased. The id is in the name of the stream. */
export interface ErasedRecord {
  readonly organizationId: string;
  readonly entityType: EntityType;
}

/** Every field that tells who somebody is, empty. */
export const erasedFields = {
  firstName: null,
  lastName: null,
  companyName: null,
  email: null,
  phoneNumber: null,
  legalAddress: null,
  bankAccount: null,
} as const;

export type ErasureEvent<Party extends string> =
  | DomainEvent<`${Party}ErasureRequested`, ErasureRequest>
  | DomainEvent<`${Party}ErasureWithdrawn`, { readonly cause: WithdrawalCause }>
  | DomainEvent<`${Party}ErasureConfirmed`, Record<string, never>>
  | DomainEvent<`${Party}Erased`, ErasedRecord>;

/** The part of a party's state that says how far its erasure has come. */
export interface ErasureState {
  /** Null for a party that is not being erased. Any other can be neither used nor changed. */
  readonly erasure: ErasurePhase | null;
  /** The request that is under way; null when there is none, and once it is completed. */
  readonly erasureRequest: ErasureRequest | null;
}

export const notErased: ErasureState = { erasure: null, erasureRequest: null };

export function erasureRequested(erasureRequest: ErasureRequest): ErasureState {
  return { erasure: 'requested', erasureRequest };
}

/** What the state of a party becomes with its erasure. */
export function erasureCompleted(at: string) {
  const phase = { erasure: 'erased', erasureRequest: null } as const;
  return { ...erasedFields, ...phase, erased: true, updatedAt: at } as const;
}

export type ErasureCommand =
  | DomainCommand<'RequestErasure', ErasureRequest & { readonly requestId: string }>
  | DomainCommand<
      'WithdrawErasure',
      { readonly cause: WithdrawalCause; readonly requestId: string }
    >
  | DomainCommand<'ConfirmErasure', { readonly requestId: string }>
  | DomainCommand<'CompleteErasure', Record<string, never>>;

export type ErasureRefusal =
  /** It was confirmed, or completed. */
  | 'ERASURE_CONFIRMED'
  | 'ERASURE_NOT_REQUESTED'
  /** Another run has made a request of its own since. */
  | 'ERASURE_REQUEST_REPLACED'
  | 'ERASURE_NOT_CONFIRMED';

/** A step that was taken before records nothing. */
export function decideErasure<Party extends string>(
  party: Party,
  command: ErasureCommand,
  state: ErasureState & ErasedRecord,
): Decision<ErasureEvent<Party>, ErasureRefusal> {
  const { at } = command;
  const { erasure, erasureRequest, organizationId, entityType } = state;
  switch (command.type) {
    case 'RequestErasure': {
      const isKnown = erasureRequest?.requestId === command.data.requestId;
      const isPast = erasure === 'confirmed' || erasure === 'erased';
      if (isKnown || isPast) return [];
      return [{ type: `${party}ErasureRequested`, at, data: command.data }];
    }
    case 'WithdrawErasure': {
      const { cause, requestId } = command.data;
      if (erasure === null) return [];
      if (erasure !== 'requested') return { refused: 'ERASURE_CONFIRMED' };
      if (erasureRequest?.requestId !== requestId) return { refused: 'ERASURE_REQUEST_REPLACED' };
      return [{ type: `${party}ErasureWithdrawn`, at, data: { cause } }];
    }
    case 'ConfirmErasure': {
      if (erasure === null) return { refused: 'ERASURE_NOT_REQUESTED' };
      if (erasure !== 'requested') return [];
      const isOurs = erasureRequest?.requestId === command.data.requestId;
      if (!isOurs) return { refused: 'ERASURE_REQUEST_REPLACED' };
      return [{ type: `${party}ErasureConfirmed`, at, data: {} }];
    }
    case 'CompleteErasure': {
      if (erasure === 'erased') return [];
      if (erasure !== 'confirmed') return { refused: 'ERASURE_NOT_CONFIRMED' };
      return [{ type: `${party}Erased`, at, data: { organizationId, entityType } }];
    }
    default:
      return unreachable(command);
  }
}
