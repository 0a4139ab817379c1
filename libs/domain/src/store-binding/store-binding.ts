/**
 * Store binding: the environment and the MAC root that a store belongs to, recorded in the store at its
 * first use. One stream, `store-binding`. A process with another environment or another root must not use
 * the store: it would pay with a sandbox's data, or give the contacts other identities.
 *
 * Master keys are not bound: they may be rotated. In stores of older releases the root is derived from the
 * master key, so the check value is the same as then.
 */
import type { Environment } from '../api-key/api-key.js';
import { type Aggregate, type Decision, type DomainCommand, type DomainEvent } from '../decider.js';

/** A MAC root without the root itself. */
export interface MasterKeyCheck {
  /** The master key that was active when the store was bound. */
  readonly keyId: string;
  /** A MAC of this store's id: two roots never give the same one. */
  readonly check: string;
}

export interface BoundStore {
  /** Random UUID: identifies the log, so that a database knows which log it belongs to. */
  readonly storeId: string;
  readonly environment: Environment;
}

export type StoreBindingEvent =
  | DomainEvent<'StoreBound', BoundStore>
  | DomainEvent<'MasterKeyBound', MasterKeyCheck>
  /** From here on no data key is in an event. Releases that put them there do not know this event and refuse the store. */
  | DomainEvent<'DataKeysMoved', Record<string, never>>;

export type StoreBindingState =
  | (BoundStore & {
      /** Key ID to check value. Empty until a process with a key has come. */
      readonly masterKeys: Readonly<Record<string, string>>;
      readonly dataKeysMoved: boolean;
    })
  | null;

export type StoreBindingCommand =
  | DomainCommand<'BindStore', BoundStore>
  | DomainCommand<'BindMasterKey', MasterKeyCheck>
  | DomainCommand<'MoveDataKeys', Record<string, never>>;

export type StoreBindingRefusal = 'OTHER_ENVIRONMENT' | 'NOT_BOUND' | 'OTHER_MAC_ROOT';

function decide(
  command: StoreBindingCommand,
  state: StoreBindingState,
): Decision<StoreBindingEvent, StoreBindingRefusal> {
  const { at } = command;
  if (command.type === 'BindStore') {
    if (state === null) return [{ type: 'StoreBound', at, data: command.data }];
    return state.environment === command.data.environment ? [] : { refused: 'OTHER_ENVIRONMENT' };
  }
  if (state === null) return { refused: 'NOT_BOUND' };
  if (command.type === 'MoveDataKeys')
    return state.dataKeysMoved ? [] : [{ type: 'DataKeysMoved', at, data: {} }];
  const { check } = command.data;
  if (Object.keys(state.masterKeys).length === 0)
    return [{ type: 'MasterKeyBound', at, data: command.data }];
  const isSame = Object.values(state.masterKeys).includes(check);
  return isSame ? [] : { refused: 'OTHER_MAC_ROOT' };
}

function evolve(state: StoreBindingState, event: StoreBindingEvent): StoreBindingState {
  if (event.type === 'StoreBound') return { ...event.data, masterKeys: {}, dataKeysMoved: false };
  if (state === null) throw new Error('the first event of a store binding is StoreBound');
  if (event.type === 'DataKeysMoved') return { ...state, dataKeysMoved: true };
  const { keyId, check } = event.data;
  return { ...state, masterKeys: { ...state.masterKeys, [keyId]: check } };
}

export const storeBinding: Aggregate<
  StoreBindingState,
  StoreBindingCommand,
  StoreBindingEvent,
  StoreBindingRefusal
> = {
  category: 'store',
  initial: null,
  decide,
  evolve,
  schemaVersions: { StoreBound: 1, MasterKeyBound: 1, DataKeysMoved: 1 },
};
