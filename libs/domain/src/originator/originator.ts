/**
 * Originator: the client's own party and bank account, one side of every payment.
 * Reads top-down: events, state, evolve, commands, decide.
 */
import {
  type Aggregate,
  type Decision,
  type DomainCommand,
  type DomainEvent,
  unreachable,
} from '../decider.js';
import {
  completionStep,
  confirmationStep,
  type ErasedRecord,
  erasedFields,
  type ErasurePhase,
  type ErasureRefusal,
  type ErasureRequest,
  type ErasureStep,
  requestStep,
  type WithdrawalCause,
  withdrawalStep,
} from '../erasure.js';
import {
  type BankAccount,
  effectiveChanges,
  type PartyChanges,
  type PartyProfile,
  withoutDataKey,
} from '../party.js';

/** Unlike a contact's, an originator's bank account can be replaced but never cleared. */
export type OriginatorChanges = Omit<PartyChanges, 'bankAccount'> & {
  /** Null only when erased. */
  readonly bankAccount?: BankAccount | null;
};

export interface OriginatorRecord extends PartyProfile {
  readonly originatorId: string;
  readonly organizationId: string;
  /** Null only when erased. */
  readonly bankAccount: BankAccount | null;
}

export type OriginatorEvent =
  | DomainEvent<'OriginatorCreated', OriginatorRecord>
  | DomainEvent<'OriginatorUpdated', { readonly changes: OriginatorChanges }>
  // Erasure: see erasure.ts.
  | DomainEvent<'OriginatorErasureRequested', ErasureRequest>
  | DomainEvent<'OriginatorErasureWithdrawn', { readonly cause: WithdrawalCause }>
  | DomainEvent<'OriginatorErasureConfirmed', Record<string, never>>
  | DomainEvent<'OriginatorErased', ErasedRecord>;

export interface Originator extends OriginatorRecord {
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Null for an originator that is not being erased. No other can be used or changed. */
  readonly erasure: ErasurePhase | null;
  /** The request that is under way; null when there is none, and once it is completed. */
  readonly erasureRequest: ErasureRequest | null;
}

export type OriginatorState = Originator | null;

export type OriginatorCommand =
  | DomainCommand<'CreateOriginator', OriginatorRecord>
  | DomainCommand<'UpdateOriginator', { readonly changes: OriginatorChanges }>
  | DomainCommand<'RequestOriginatorErasure', ErasureRequest>
  | DomainCommand<'WithdrawOriginatorErasure', { readonly cause: WithdrawalCause }>
  | DomainCommand<'ConfirmOriginatorErasure', Record<string, never>>
  | DomainCommand<'EraseOriginator', Record<string, never>>;

export type OriginatorRefusal =
  | 'ORIGINATOR_ALREADY_EXISTS'
  | 'ORIGINATOR_NOT_FOUND'
  /** A business is no person: there is nothing to erase. */
  | 'ORIGINATOR_IS_BUSINESS'
  | ErasureRefusal;

function evolve(state: OriginatorState, event: OriginatorEvent): OriginatorState {
  if (event.type === 'OriginatorCreated')
    return {
      ...event.data,
      createdAt: event.at,
      updatedAt: event.at,
      erasure: null,
      erasureRequest: null,
    };
  if (state === null) throw new Error(`the first event of an originator cannot be ${event.type}`);
  switch (event.type) {
    case 'OriginatorUpdated':
      return { ...state, ...event.data.changes, updatedAt: event.at };
    case 'OriginatorErasureRequested':
      return { ...state, erasure: 'requested', erasureRequest: event.data };
    case 'OriginatorErasureWithdrawn':
      return { ...state, erasure: null, erasureRequest: null };
    case 'OriginatorErasureConfirmed':
      return { ...state, erasure: 'confirmed' };
    case 'OriginatorErased': {
      const updatedAt = event.at;
      return {
        ...state,
        ...erasedFields,
        erased: true,
        updatedAt,
        erasure: 'erased',
        erasureRequest: null,
      };
    }
    default:
      return unreachable(event);
  }
}

function decide(
  command: OriginatorCommand,
  state: OriginatorState,
): Decision<OriginatorEvent, OriginatorRefusal> {
  const { at } = command;
  if (command.type === 'CreateOriginator')
    return state === null
      ? [{ type: 'OriginatorCreated', at, data: command.data }]
      : { refused: 'ORIGINATOR_ALREADY_EXISTS' };
  if (state === null) return { refused: 'ORIGINATOR_NOT_FOUND' };
  switch (command.type) {
    case 'UpdateOriginator': {
      if (state.erasure !== null) return { refused: 'ORIGINATOR_NOT_FOUND' };
      const changes = effectiveChanges(state, command.data.changes);
      return Object.keys(changes).length === 0
        ? []
        : [{ type: 'OriginatorUpdated', at, data: { changes } }];
    }
    case 'RequestOriginatorErasure': {
      if (state.entityType === 'BUSINESS') return { refused: 'ORIGINATOR_IS_BUSINESS' };
      const step = requestStep(state.erasure, state.erasureRequest, command.data);
      return stepped(step, { type: 'OriginatorErasureRequested', at, data: command.data });
    }
    case 'WithdrawOriginatorErasure': {
      const step = withdrawalStep(state.erasure);
      return stepped(step, { type: 'OriginatorErasureWithdrawn', at, data: command.data });
    }
    case 'ConfirmOriginatorErasure':
      return stepped(confirmationStep(state.erasure), {
        type: 'OriginatorErasureConfirmed',
        at,
        data: {},
      });
    case 'EraseOriginator': {
      const { organizationId, entityType } = state;
      const data = { organizationId, entityType };
      return stepped(completionStep(state.erasure), { type: 'OriginatorErased', at, data });
    }
    default:
      return unreachable(command);
  }
}

function stepped(
  step: ErasureStep,
  event: OriginatorEvent,
): Decision<OriginatorEvent, OriginatorRefusal> {
  if (step === 'record') return [event];
  return step === 'nothing' ? [] : { refused: step };
}

export const originator: Aggregate<
  OriginatorState,
  OriginatorCommand,
  OriginatorEvent,
  OriginatorRefusal
> = {
  category: 'originator',
  initial: null,
  decide,
  evolve,
  stateVersion: 3,
  schemaVersions: {
    OriginatorCreated: 2,
    OriginatorUpdated: 2,
    OriginatorErasureRequested: 1,
    OriginatorErasureWithdrawn: 1,
    OriginatorErasureConfirmed: 1,
    OriginatorErased: 1,
  },
  upcast: (type, _schemaVersion, data) =>
    type === 'OriginatorCreated' ? withoutDataKey(data) : data,
};
