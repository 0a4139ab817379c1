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
  decideErasure,
  erasureCompleted,
  type ErasureCommand,
  type ErasureEvent,
  type ErasureRefusal,
  erasureRequested,
  type ErasureState,
  notErased,
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
  | ErasureEvent<'Originator'>;

export interface Originator extends OriginatorRecord, ErasureState {
  readonly createdAt: string;
  readonly updatedAt: string;
}

export type OriginatorState = Originator | null;

export type OriginatorCommand =
  | DomainCommand<'CreateOriginator', OriginatorRecord>
  | DomainCommand<'UpdateOriginator', { readonly changes: OriginatorChanges }>
  | ErasureCommand;

export type OriginatorRefusal =
  | 'ORIGINATOR_ALREADY_EXISTS'
  | 'ORIGINATOR_NOT_FOUND'
  /** A business is no person: there is nothing to erase. */
  | 'ORIGINATOR_IS_BUSINESS'
  | ErasureRefusal;

function evolve(state: OriginatorState, event: OriginatorEvent): OriginatorState {
  if (event.type === 'OriginatorCreated')
    return { ...event.data, createdAt: event.at, updatedAt: event.at, ...notErased };
  if (state === null) throw new Error(`the first event of an originator cannot be ${event.type}`);
  switch (event.type) {
    case 'OriginatorUpdated':
      return { ...state, ...event.data.changes, updatedAt: event.at };
    case 'OriginatorErasureRequested':
      return { ...state, ...erasureRequested(event.data) };
    case 'OriginatorErasureWithdrawn':
      return { ...state, ...notErased };
    case 'OriginatorErasureConfirmed':
      return { ...state, erasure: 'confirmed' };
    case 'OriginatorErased':
      return { ...state, ...erasureCompleted(event.at) };
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
    case 'RequestErasure':
      if (state.entityType === 'BUSINESS') return { refused: 'ORIGINATOR_IS_BUSINESS' };
      return decideErasure('Originator', command, state);
    case 'WithdrawErasure':
    case 'ConfirmErasure':
    case 'CompleteErasure':
      return decideErasure('Originator', command, state);
    default:
      return unreachable(command);
  }
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
