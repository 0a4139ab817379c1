/**
 * User: a person who signs in to the dashboard of one organization. The stream is `user-<id>`. It holds who
 * the user is and what the user may do, never a password: passwords, one-time codes and sessions are in
 * tables (libs/users).
 *
 * A session belongs to one epoch of its user. Every event that must end the sessions begins a new epoch, so a
 * session from before it is worth nothing, whatever became of its row.
 */
import {
  type Aggregate,
  type Decision,
  type DomainCommand,
  type DomainEvent,
  unreachable,
} from '../decider.js';
import type { Erasable } from '../party.js';

/** From the least to the most. Each role may do what those before it may. */
export const userRoles = ['viewer', 'operator', 'approver', 'admin'] as const;
export type UserRole = (typeof userRoles)[number];

export interface UserRecord extends Erasable {
  readonly userId: string;
  readonly organizationId: string;
  /** Null once it was erased. */
  readonly email: string | null;
  readonly role: UserRole;
}

export type UserEvent =
  | DomainEvent<'UserCreated', UserRecord>
  | DomainEvent<'UserRoleChanged', { readonly role: UserRole }>
  | DomainEvent<'UserDisabled', Record<string, never>>
  | DomainEvent<'UserEnabled', Record<string, never>>
  /** By the user, or by an administrator who gave out a new one. */
  | DomainEvent<'UserPasswordChanged', Record<string, never>>
  | DomainEvent<'UserTotpEnabled', Record<string, never>>
  | DomainEvent<'UserTotpDisabled', Record<string, never>>
  /** For good. Afterwards the user's key is destroyed; the ID stays as the actor of what the user did. */
  | DomainEvent<'UserErased', Record<string, never>>;

export interface User extends UserRecord {
  readonly isDisabled: boolean;
  /** Whether signing in takes a one-time code besides the password. */
  readonly hasTotp: boolean;
  readonly sessionEpoch: number;
  readonly createdAt: string;
  readonly updatedAt: string;
}
export type UserState = User | null;

/**
 * Whether the command is refused for a user who administers the organization. So whoever takes an administrator
 * away has first seen that there is another one.
 */
interface SparingAdmins {
  readonly sparesAdmins: boolean;
}

export type UserCommand =
  | DomainCommand<'CreateUser', Omit<UserRecord, 'erased'>>
  | DomainCommand<'ChangeUserRole', { readonly role: UserRole } & SparingAdmins>
  | DomainCommand<'DisableUser', SparingAdmins>
  | DomainCommand<'EnableUser', Record<string, never>>
  | DomainCommand<'ChangeUserPassword', Record<string, never>>
  | DomainCommand<'EnableUserTotp', Record<string, never>>
  | DomainCommand<'DisableUserTotp', Record<string, never>>
  | DomainCommand<'EraseUser', SparingAdmins>;

export type UserRefusal =
  | 'USER_ALREADY_EXISTS'
  | 'USER_NOT_FOUND'
  | 'USER_DISABLED'
  | 'USER_IS_ADMIN';

export function isErased(user: User): boolean {
  return user.erased === true;
}

/** Whether the user can administer the organization. */
export function isActiveAdmin({ role, isDisabled }: User): boolean {
  return role === 'admin' && !isDisabled;
}

function decide(command: UserCommand, state: UserState): Decision<UserEvent, UserRefusal> {
  const { at } = command;
  if (command.type === 'CreateUser')
    return state === null
      ? [{ type: 'UserCreated', at, data: command.data }]
      : { refused: 'USER_ALREADY_EXISTS' };
  if (state === null) return { refused: 'USER_NOT_FOUND' };
  if (command.type === 'EraseUser') {
    // A key may be destroyed in a log that was restored to a time before the event.
    if (isErased(state) && state.isDisabled) return [];
    if (command.data.sparesAdmins && isActiveAdmin(state)) return { refused: 'USER_IS_ADMIN' };
    return [{ type: 'UserErased', at, data: {} }];
  }
  if (isErased(state)) return { refused: 'USER_NOT_FOUND' };
  switch (command.type) {
    case 'ChangeUserRole': {
      const { role, sparesAdmins } = command.data;
      if (state.role === role) return [];
      if (sparesAdmins && isActiveAdmin(state)) return { refused: 'USER_IS_ADMIN' };
      return [{ type: 'UserRoleChanged', at, data: { role } }];
    }
    case 'DisableUser':
      if (state.isDisabled) return [];
      if (command.data.sparesAdmins && isActiveAdmin(state)) return { refused: 'USER_IS_ADMIN' };
      return [{ type: 'UserDisabled', at, data: {} }];
    case 'EnableUser':
      return state.isDisabled ? [{ type: 'UserEnabled', at, data: {} }] : [];
    case 'ChangeUserPassword':
      return [{ type: 'UserPasswordChanged', at, data: {} }];
    case 'EnableUserTotp':
      if (state.isDisabled) return { refused: 'USER_DISABLED' };
      return state.hasTotp ? [] : [{ type: 'UserTotpEnabled', at, data: {} }];
    case 'DisableUserTotp':
      return state.hasTotp ? [{ type: 'UserTotpDisabled', at, data: {} }] : [];
    default:
      return unreachable(command);
  }
}

function evolve(state: UserState, event: UserEvent): UserState {
  const { at } = event;
  if (event.type === 'UserCreated')
    return {
      ...event.data,
      isDisabled: false,
      hasTotp: false,
      sessionEpoch: 0,
      createdAt: at,
      updatedAt: at,
    };
  if (state === null) throw new Error(`the first event of a user cannot be ${event.type}`);
  const updated = { ...state, updatedAt: at };
  const sessionEpoch = state.sessionEpoch + 1;
  switch (event.type) {
    // The role is read with each request, so sessions may stay.
    case 'UserRoleChanged':
      return { ...updated, role: event.data.role };
    case 'UserDisabled':
      return { ...updated, isDisabled: true, sessionEpoch };
    case 'UserEnabled':
      return { ...updated, isDisabled: false };
    case 'UserPasswordChanged':
      return { ...updated, sessionEpoch };
    case 'UserTotpEnabled':
      return { ...updated, hasTotp: true };
    case 'UserTotpDisabled':
      return { ...updated, hasTotp: false, sessionEpoch };
    case 'UserErased': {
      const gone = { email: null, erased: true, isDisabled: true, hasTotp: false } as const;
      return { ...updated, ...gone, sessionEpoch };
    }
    default:
      return unreachable(event);
  }
}

/** Whether a session of this epoch may still act for the user. */
export function isSignedIn(user: UserState, sessionEpoch: number): user is User {
  return user !== null && !user.isDisabled && user.sessionEpoch === sessionEpoch;
}

export const user: Aggregate<UserState, UserCommand, UserEvent, UserRefusal> = {
  category: 'user',
  initial: null,
  decide,
  evolve,
  schemaVersions: {
    UserCreated: 1,
    UserRoleChanged: 1,
    UserDisabled: 1,
    UserEnabled: 1,
    UserPasswordChanged: 1,
    UserTotpEnabled: 1,
    UserTotpDisabled: 1,
    UserErased: 1,
  },
};
