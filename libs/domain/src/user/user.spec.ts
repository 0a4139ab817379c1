import { at, fold, given, ids, later } from '../testing.js';
import { isSignedIn, user, type UserCommand, type UserEvent, type UserRole } from './user.js';

const record = {
  userId: ids.contact,
  organizationId: ids.organization,
  email: 'ada@example.com',
  role: 'operator',
} as const;
const created: UserEvent = { type: 'UserCreated', at, data: record };
const nothing = {};
const event = (type: Exclude<UserEvent['type'], 'UserCreated' | 'UserRoleChanged'>): UserEvent => ({
  type,
  at: later,
  data: nothing,
});
const command = (
  type: Exclude<UserCommand['type'], 'CreateUser' | 'ChangeUserRole' | 'DisableUser' | 'EraseUser'>,
): UserCommand => ({ type, at: later, data: nothing });
const disable = (sparesAdmins = false): UserCommand => ({
  type: 'DisableUser',
  at: later,
  data: { sparesAdmins },
});
const become = (role: UserRole, sparesAdmins = false): UserCommand => ({
  type: 'ChangeUserRole',
  at: later,
  data: { role, sparesAdmins },
});

it('a user is created once', () => {
  const create: UserCommand = { type: 'CreateUser', at, data: record };
  given(user).when(create).then(created);
  given(user, created).when(create).thenRefused('USER_ALREADY_EXISTS');
});

it.each(['EnableUser', 'ChangeUserPassword', 'EnableUserTotp', 'DisableUserTotp'] as const)(
  '%s of an unknown user is refused',
  (type) => {
    given(user).when(command(type)).thenRefused('USER_NOT_FOUND');
  },
);
it('an unknown user is not disabled', () => {
  given(user).when(disable()).thenRefused('USER_NOT_FOUND');
});

it('changes that change nothing are not recorded', () => {
  given(user, created).when(command('EnableUser')).thenNothing();
  given(user, created).when(command('DisableUserTotp')).thenNothing();
  given(user, created, event('UserDisabled')).when(disable()).thenNothing();
  given(user, created, event('UserTotpEnabled')).when(command('EnableUserTotp')).thenNothing();
  given(user, created).when(become('operator')).thenNothing();
});

it('changes are recorded', () => {
  given(user, created).when(disable()).then(event('UserDisabled'));
  given(user, created, event('UserDisabled'))
    .when(command('EnableUser'))
    .then(event('UserEnabled'));
  given(user, created).when(command('ChangeUserPassword')).then(event('UserPasswordChanged'));
  given(user, created).when(command('EnableUserTotp')).then(event('UserTotpEnabled'));
  given(user, created, event('UserTotpEnabled'))
    .when(command('DisableUserTotp'))
    .then(event('UserTotpDisabled'));
  given(user, created)
    .when(become('admin'))
    .then({ type: 'UserRoleChanged', at: later, data: { role: 'admin' } });
});

it('a change that spares administrators takes none away', () => {
  const admin: UserEvent = { type: 'UserRoleChanged', at: later, data: { role: 'admin' } };
  const spares = true;
  given(user, created, admin).when(disable(spares)).thenRefused('USER_IS_ADMIN');
  given(user, created, admin).when(become('viewer', spares)).thenRefused('USER_IS_ADMIN');
  given(user, created, admin).when(become('admin', spares)).thenNothing();
  given(user, created).when(disable(spares)).then(event('UserDisabled'));
  given(user, created, admin, event('UserDisabled'))
    .when(become('viewer', spares))
    .then({ type: 'UserRoleChanged', at: later, data: { role: 'viewer' } });
});

it('an erased user has no address, no session, and cannot be changed any more', () => {
  const erase = (sparesAdmins: boolean): UserCommand => ({
    type: 'EraseUser',
    at: later,
    data: { sparesAdmins },
  });
  const admin: UserEvent = { type: 'UserRoleChanged', at: later, data: { role: 'admin' } };
  const erased = event('UserErased');
  given(user).when(erase(false)).thenRefused('USER_NOT_FOUND');
  given(user, created, admin).when(erase(true)).thenRefused('USER_IS_ADMIN');
  given(user, created).when(erase(true)).then(erased);
  given(user, created, erased).when(erase(false)).thenNothing();
  given(user, created, erased).when(command('EnableUser')).thenRefused('USER_NOT_FOUND');
  const state = fold(user, [created, erased]);
  expect(state).toMatchObject({ email: null, erased: true, role: 'operator' });
  expect(isSignedIn(state, 0)).toBe(false);
  expect(isSignedIn(state, 1)).toBe(false);
});

it('a disabled user cannot set up one-time codes', () => {
  given(user, created, event('UserDisabled'))
    .when(command('EnableUserTotp'))
    .thenRefused('USER_DISABLED');
});

describe('a session', () => {
  const signedIn = (...events: readonly UserEvent[]) =>
    isSignedIn(fold(user, [created, ...events]), 0);

  it('goes on while the role changes and one-time codes are set up', () => {
    expect(signedIn()).toBe(true);
    expect(signedIn({ type: 'UserRoleChanged', at: later, data: { role: 'viewer' } })).toBe(true);
    expect(signedIn(event('UserTotpEnabled'))).toBe(true);
  });

  it('ends when the user is disabled, and stays ended when the user is enabled again', () => {
    expect(signedIn(event('UserDisabled'))).toBe(false);
    expect(signedIn(event('UserDisabled'), event('UserEnabled'))).toBe(false);
  });

  it('ends when the password changes or one-time codes are turned off', () => {
    expect(signedIn(event('UserPasswordChanged'))).toBe(false);
    expect(signedIn(event('UserTotpEnabled'), event('UserTotpDisabled'))).toBe(false);
  });

  it('of nobody is none', () => {
    expect(isSignedIn(null, 0)).toBe(false);
  });
});
