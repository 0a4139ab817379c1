/**
 * Store binding: the environment and the master key that a store belongs to, recorded in the store at its
 * first use. One stream, `store-binding`. A process with another environment or another key must not use
 * the store: it would pay with a sandbox's data, or write what nobody else can open.
 */
import type { Environment } from '../api-key/api-key.js';
import { type Aggregate, type Decision, type DomainCommand, type DomainEvent } from '../decider.js';

/** A master key without the key itself. */
export interface MasterKeyCheck {
  /** Derived from the key; names it in every wrapped data key. */
  readonly keyId: string;
  /** A MAC under the key of this store's id: two keys never give the same one. */
  readonly check: string;
}

export interface BoundStore {
  /** Random UUID: identifies the log, so that a database knows which log it belongs to. */
  readonly storeId: string;
  readonly environment: Environment;
}

export type StoreBindingEvent =
  | DomainEvent<'StoreBound', BoundStore>
  | DomainEvent<'MasterKeyBound', MasterKeyCheck>;

export type StoreBindingState =
  | (BoundStore & {
      /** Key id to check value. Empty until a process with a key has come. */
      readonly masterKeys: Readonly<Record<string, string>>;
    })
  | null;

export type StoreBindingCommand =
  | DomainCommand<'BindStore', BoundStore>
  | DomainCommand<'BindMasterKey', MasterKeyCheck>;

export type StoreBindingRefusal = 'OTHER_ENVIRONMENT' | 'NOT_BOUND' | 'OTHER_MASTER_KEY';

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
  const { keyId, check } = command.data;
  if (Object.keys(state.masterKeys).length === 0)
    return [{ type: 'MasterKeyBound', at, data: command.data }];
  return state.masterKeys[keyId] === check ? [] : { refused: 'OTHER_MASTER_KEY' };
}

function evolve(state: StoreBindingState, event: StoreBindingEvent): StoreBindingState {
  if (event.type === 'StoreBound') return { ...event.data, masterKeys: {} };
  if (state === null) throw new Error('the first event of a store binding is StoreBound');
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
  schemaVersions: { StoreBound: 1, MasterKeyBound: 1 },
};
