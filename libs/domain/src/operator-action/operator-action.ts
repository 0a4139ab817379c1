/**
 * Operator action: what an operator had the system do by hand. It is recorded before it begins, and its
 * outcome when it has ended. One stream per action, with at most two events: actions never conflict, and
 * no stream grows. An action without an outcome is under way, or its process died.
 */
import { type Aggregate, type Decision, type DomainCommand, type DomainEvent } from '../decider.js';

/** The command as it is typed after `pis`. */
export type OperatorActionName =
  | 'api-key revoke'
  | 'user disable'
  | 'user reset'
  | 'webhooks redeliver'
  | 'dead-letters replay'
  | 'projections rebuild'
  | 'relay rewind'
  | 'relay replay'
  | 'quarantine retry'
  | 'quarantine skip'
  | 'consumers import'
  | 'consumers reset'
  | 'rails notifications retry'
  | 'rails notifications dismiss'
  | 'rails pause'
  | 'rails resume'
  | 'rails settle'
  | 'payments show'
  | 'audit show'
  | 'rails files show'
  | 'rails files apply'
  | 'rails files forget'
  | 'store rebind'
  | 'keys rotate'
  | 'keys seal-history'
  | 'contact erase'
  | 'originator erase'
  | 'user erase'
  | 'routing-directory import'
  | 'organization rails set'
  | 'organization retention set'
  | 'organization branding set'
  | 'organization approvals set'
  | 'organization time-zone set'
  | 'fees set'
  | 'fees collect'
  | 'fees retry'
  | 'settlement-account set'
  | 'statements restore';

/** What an action is about, or its result: identifiers, counts and times; no secrets, no personal data. */
export type OperatorActionFacts = Readonly<Record<string, unknown>>;

export interface OperatorActionRecord {
  /** UUID. */
  readonly actionId: string;
  readonly action: OperatorActionName;
  readonly subject: OperatorActionFacts;
  /** Who did it: the name given, or else the user of the operating system. */
  readonly actor: string;
  /** Null when the operator gave none. */
  readonly reason: string | null;
  /** The user of the operating system and the machine, whatever name was given. */
  readonly osUser: string;
  readonly host: string;
}

export type OperatorActionEvent =
  | DomainEvent<'OperatorActionStarted', OperatorActionRecord>
  | DomainEvent<'OperatorActionSucceeded', { readonly outcome: OperatorActionFacts }>
  | DomainEvent<'OperatorActionFailed', { readonly error: string }>;

export type OperatorActionState =
  | (OperatorActionRecord & {
      readonly startedAt: string;
      readonly status: 'started' | 'succeeded' | 'failed';
    })
  | null;

export type OperatorActionCommand =
  | DomainCommand<'StartOperatorAction', OperatorActionRecord>
  | DomainCommand<'SucceedOperatorAction', { readonly outcome: OperatorActionFacts }>
  | DomainCommand<'FailOperatorAction', { readonly error: string }>;

export type OperatorActionRefusal =
  | 'OPERATOR_ACTION_ALREADY_STARTED'
  | 'OPERATOR_ACTION_NOT_FOUND'
  | 'OPERATOR_ACTION_ENDED';

function decide(
  command: OperatorActionCommand,
  state: OperatorActionState,
): Decision<OperatorActionEvent, OperatorActionRefusal> {
  const { at } = command;
  if (command.type === 'StartOperatorAction')
    return state === null
      ? [{ type: 'OperatorActionStarted', at, data: command.data }]
      : { refused: 'OPERATOR_ACTION_ALREADY_STARTED' };
  if (state === null) return { refused: 'OPERATOR_ACTION_NOT_FOUND' };
  if (state.status !== 'started') return { refused: 'OPERATOR_ACTION_ENDED' };
  return command.type === 'SucceedOperatorAction'
    ? [{ type: 'OperatorActionSucceeded', at, data: command.data }]
    : [{ type: 'OperatorActionFailed', at, data: command.data }];
}

function evolve(state: OperatorActionState, event: OperatorActionEvent): OperatorActionState {
  if (event.type === 'OperatorActionStarted')
    return { ...event.data, startedAt: event.at, status: 'started' };
  if (state === null)
    throw new Error(`the first event of an operator action cannot be ${event.type}`);
  return { ...state, status: event.type === 'OperatorActionSucceeded' ? 'succeeded' : 'failed' };
}

export const operatorAction: Aggregate<
  OperatorActionState,
  OperatorActionCommand,
  OperatorActionEvent,
  OperatorActionRefusal
> = {
  category: 'operatorAction',
  initial: null,
  decide,
  evolve,
  schemaVersions: {
    OperatorActionStarted: 1,
    OperatorActionSucceeded: 1,
    OperatorActionFailed: 1,
  },
};
