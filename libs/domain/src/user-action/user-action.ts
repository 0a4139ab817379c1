/**
 * User action: what a user of the dashboard did that changes no other stream, such as a sign-in or a test of a webhook.
 * It is recorded before it begins, and what came of it when it has ended. One stream per action, with at most two
 * events: actions never conflict, and no stream grows. An action without an outcome is under way, or its process
 * died, or the outcome could not be recorded.
 */
import { type Aggregate, type Decision, type DomainCommand, type DomainEvent } from '../decider.js';

/** The names of the dashboard's operations. */
export const userActionNames = [
  'signIn',
  'signOut',
  'endSession',
  'endOtherSessions',
  'testWebhook',
  'redeliver',
  'replayWebhook',
  'cancelReplay',
  'createExport',
  'cancelExport',
  'exportPayments',
  'downloadExport',
  'downloadStatement',
  'downloadEvidence',
] as const;
export type UserActionName = (typeof userActionNames)[number];

/** What an action is about: identifiers and choices; no secrets, no personal data. */
export type UserActionSubject = Readonly<Record<string, string>>;

/** The browser of a sign-in. Personal data of the user. */
export interface UserActionClient {
  readonly userId: string;
  /** Null once the user was erased. */
  readonly address: string | null;
  readonly userAgent: string | null;
  readonly erased?: true;
}

export interface UserActionRecord {
  /** UUID. */
  readonly actionId: string;
  readonly organizationId: string;
  readonly userId: string;
  readonly action: UserActionName;
  readonly subject: UserActionSubject;
  /** Of a sign-in; null for other actions. */
  readonly client: UserActionClient | null;
}

export type UserActionEvent =
  | DomainEvent<'UserActionStarted', UserActionRecord>
  | DomainEvent<'UserActionSucceeded', Record<string, never>>
  /** `error`: its code or its kind, never its text. */
  | DomainEvent<'UserActionFailed', { readonly error: string }>;

export type UserActionState =
  | (UserActionRecord & {
      readonly startedAt: string;
      readonly status: 'started' | 'succeeded' | 'failed';
    })
  | null;

export type UserActionCommand =
  | DomainCommand<'StartUserAction', UserActionRecord>
  | DomainCommand<'SucceedUserAction', Record<string, never>>
  | DomainCommand<'FailUserAction', { readonly error: string }>;

export type UserActionRefusal =
  | 'USER_ACTION_ALREADY_STARTED'
  | 'USER_ACTION_NOT_FOUND'
  | 'USER_ACTION_ENDED';

function decide(
  command: UserActionCommand,
  state: UserActionState,
): Decision<UserActionEvent, UserActionRefusal> {
  const { at } = command;
  if (command.type === 'StartUserAction')
    return state === null
      ? [{ type: 'UserActionStarted', at, data: command.data }]
      : { refused: 'USER_ACTION_ALREADY_STARTED' };
  if (state === null) return { refused: 'USER_ACTION_NOT_FOUND' };
  if (state.status !== 'started') return { refused: 'USER_ACTION_ENDED' };
  return command.type === 'SucceedUserAction'
    ? [{ type: 'UserActionSucceeded', at, data: {} }]
    : [{ type: 'UserActionFailed', at, data: command.data }];
}

function evolve(state: UserActionState, event: UserActionEvent): UserActionState {
  if (event.type === 'UserActionStarted')
    return { ...event.data, startedAt: event.at, status: 'started' };
  if (state === null) throw new Error(`the first event of a user action cannot be ${event.type}`);
  return { ...state, status: event.type === 'UserActionSucceeded' ? 'succeeded' : 'failed' };
}

export const userAction: Aggregate<
  UserActionState,
  UserActionCommand,
  UserActionEvent,
  UserActionRefusal
> = {
  category: 'userAction',
  initial: null,
  decide,
  evolve,
  schemaVersions: {
    UserActionStarted: 1,
    UserActionSucceeded: 1,
    UserActionFailed: 1,
  },
};
