/**
 * The use cases about dashboard users. Who a user is and may do is in the stream `user-<id>`; how a user
 * proves it is in tables (credentials.ts, sessions.ts).
 *
 * What always holds: a user is created in three steps, and a crash between two of them is healed by creating
 * the user again: the e-mail address is reserved, the user's first event is stored, the password is set.
 * Before the last step nobody can sign in. Of two creations at the same time, the one that sets the password
 * has created the user. A new password is stored before the event that ends the sessions, so no session that
 * began with the old one outlives it.
 */
import { randomUUID } from 'node:crypto';
import { emailSchema, validate } from '@pis/contracts';
import {
  isActiveAdmin,
  isErased,
  organization as organizations,
  type Refusal,
  type User,
  user as users,
  type UserCommand,
  type UserRefusal,
  type UserRole,
} from '@pis/domain';
import {
  type CommandContext,
  type EventStore,
  repository,
  type StreamStates,
} from '@pis/event-store';
import { type Keyring, ownerOf } from '@pis/keyring';
import { isTransient } from '@pis/postgres';
import type pg from 'pg';
import { AdminChanges } from './admin-changes.js';
import { Credentials } from './credentials.js';
import {
  generatePassword,
  passwordLength,
  type PasswordRefusal,
  passwordRefusal,
  type Passwords,
} from './passwords.js';
import { Sessions } from './sessions.js';
import { generateTotpSecret, totpStepOf } from './totp.js';

export interface UsersOptions {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly keyring: Keyring;
  readonly passwords: Passwords;
  readonly states: StreamStates;
}

type OnUnreadable = (userId: string, error: unknown) => void;
const passOver: OnUnreadable = () => undefined;

/** Streams of users that are read at once for one list. */
const loadingMax = 8;

/** What administrators and operators see of a user. */
export interface UserView {
  readonly userId: string;
  readonly organizationId: string;
  readonly email: string | null;
  readonly role: UserRole;
  readonly disabled: boolean;
  readonly oneTimeCodes: boolean;
  /** ISO 8601; null when not locked. */
  readonly lockedUntil: string | null;
  readonly lastSignInAt: string | null;
  readonly createdAt: string;
}

export type UserCreationRefusal =
  | Refusal<'EMAIL_INVALID' | 'EMAIL_IN_USE' | 'TOO_MANY_USERS' | 'ORGANIZATION_NOT_FOUND'>
  | PasswordRefusal;
export type UserChangeRefusal = Refusal<'USER_NOT_FOUND' | 'LAST_ADMIN'> | PasswordRefusal;
export type TotpRefusal = Refusal<'WRONG_CODE' | 'USER_NOT_FOUND' | 'USER_DISABLED'>;

/**
 * A user that an administrator of this organization may change; null for every user, for operators. Nobody in an
 * organization can take its last administrator away. Operators can, because they can create another.
 */
export interface UserRef {
  readonly userId: string;
  readonly organizationId: string | null;
}

/** One spelling per address. Most hosts ignore the case of the part before the @, too. */
export function emailMacOf(keyring: Keyring, email: string): string {
  return keyring.mac('user-email', email.trim().toLowerCase().normalize('NFC'));
}

export const totpPlace = 'totp';

export class Users {
  private readonly users;
  private readonly credentials;
  private readonly sessions;
  private readonly adminChanges;

  constructor(private readonly options: UsersOptions) {
    this.users = repository(options.store, users, { states: options.states });
    this.credentials = new Credentials(options.pool);
    this.sessions = new Sessions(options.pool);
    this.adminChanges = new AdminChanges(options.pool);
  }

  /**
   * @param input.password a generated one when absent. It is in the answer and nowhere else.
   * @throws StoreUnavailable, HashingBusy
   */
  async create(
    input: {
      readonly organizationId: string;
      readonly email: string;
      readonly role: UserRole;
      readonly password?: string | null;
      readonly userId?: string;
    },
    by: CommandContext,
  ): Promise<{ userId: string; password: string } | UserCreationRefusal> {
    const { store, keyring, passwords } = this.options;
    const { organizationId, role } = input;
    const email = validate(emailSchema, input.email);
    if (!email.ok) return { refused: 'EMAIL_INVALID' };
    const password = input.password ?? generatePassword();
    const refusal = passwordRefusal(password);
    if (refusal !== null) return refusal;
    const { state } = await repository(store, organizations).load(organizationId);
    if (state === null) return { refused: 'ORGANIZATION_NOT_FOUND' };

    const emailMac = emailMacOf(keyring, email.value);
    const { hasRoom, isInUse } = await this.credentials.room(emailMac, organizationId);
    // First: a full organization learns nothing about the address.
    if (!hasRoom) return { refused: 'TOO_MANY_USERS' };
    if (isInUse) return { refused: 'EMAIL_IN_USE' };
    const wanted = input.userId ?? randomUUID();
    // The one that the ID belonged to was erased.
    const owner = ownerOf.user(wanted);
    if ((await keyring.destroyedOf([owner])).has(owner)) return { refused: 'EMAIL_IN_USE' };
    const hash = await passwords.hashNew(organizationId, password);
    const claimed = await this.credentials.claim({ userId: wanted, emailMac, organizationId });
    if (claimed === null) return { refused: 'TOO_MANY_USERS' };
    if (claimed.passwordHash !== null) return { refused: 'EMAIL_IN_USE' };
    const { userId } = claimed;
    const data = { userId, organizationId, email: email.value, role };
    const created = await this.users.create(userId, { type: 'CreateUser', at: now(), data }, by);
    // Created by a rival, or by an attempt that died before it set the password.
    const record = 'refused' in created ? (await this.users.load(userId)).state : created.state;
    if (record?.organizationId !== organizationId || record.role !== role || isErased(record))
      return { refused: 'EMAIL_IN_USE' };
    const isOurs = await this.credentials.complete(userId, hash, organizationId);
    return isOurs ? { userId, password } : { refused: 'EMAIL_IN_USE' };
  }

  /**
   * In the order of their creation.
   * @param onUnreadable told of each user that cannot be read; the others are listed. Without it, the error is thrown.
   * @throws StoreUnavailable
   */
  async list(organizationId: string, onUnreadable?: OnUnreadable): Promise<readonly UserView[]> {
    const rows = await this.credentials.ofOrganization(organizationId);
    const ids = rows.map(({ userId }) => userId);
    const found = await this.loadAll(ids, onUnreadable);
    return rows.flatMap(({ hasPassword, lockedUntil, lastSignInAt }, index) => {
      const state = found[index] ?? null;
      if (state === null || isErased(state) || !hasPassword) return [];
      if (state.organizationId !== organizationId) return [];
      return [viewOf(state, { lockedUntil, lastSignInAt })];
    });
  }

  /**
   * The e-mail addresses of those who belong to the organization, by their IDs. A user that cannot be read has none: what the user did is
   * shown all the same.
   * @throws StoreUnavailable
   */
  async emailsOf(
    organizationId: string,
    userIds: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    const found = await this.loadAll(userIds, passOver);
    const own = found.flatMap((one) => (one?.organizationId === organizationId ? [one] : []));
    return new Map(own.flatMap(({ userId, email }) => (email === null ? [] : [[userId, email]])));
  }

  /** @throws StoreUnavailable */
  async changeRole(
    whom: UserRef,
    role: UserRole,
    by: CommandContext,
  ): Promise<void | UserChangeRefusal> {
    return this.keepingAnAdmin(whom, (sparesAdmins) =>
      this.change(whom, { type: 'ChangeUserRole', at: now(), data: { role, sparesAdmins } }, by),
    );
  }

  /** Also ends the user's sessions. @throws StoreUnavailable */
  async disable(whom: UserRef, by: CommandContext): Promise<void | UserChangeRefusal> {
    const refusal = await this.keepingAnAdmin(whom, (sparesAdmins) =>
      this.change(whom, { type: 'DisableUser', at: now(), data: { sparesAdmins } }, by),
    );
    if (refusal !== undefined) return refusal;
    await this.sessions.endAll(whom.userId);
  }

  /** @throws StoreUnavailable */
  async enable(whom: UserRef, by: CommandContext): Promise<void | UserChangeRefusal> {
    return this.change(whom, { type: 'EnableUser', at: now(), data: {} }, by);
  }

  /**
   * A new password for a user who has lost the old one or the authenticator app: without one-time codes and
   * without a lock. Ends the user's sessions.
   * @param password a generated one when null
   * @throws StoreUnavailable, HashingBusy
   */
  async reset(
    whom: UserRef,
    password: string | null,
    by: CommandContext,
  ): Promise<{ password: string } | UserChangeRefusal> {
    const given = password ?? generatePassword();
    const refusal = passwordRefusal(given);
    if (refusal !== null) return refusal;
    const user = await this.load(whom);
    if (user === null) return { refused: 'USER_NOT_FOUND' };
    const hash = await this.options.passwords.hashNew(user.organizationId, given);
    if (!(await this.credentials.reset(whom.userId, hash))) return { refused: 'USER_NOT_FOUND' };
    const commands = [
      { type: 'ChangeUserPassword', at: now(), data: {} },
      { type: 'DisableUserTotp', at: now(), data: {} },
    ] as const;
    for (const command of commands) await this.change(whom, command, by);
    await this.sessions.endAll(whom.userId);
    return { password: given };
  }

  /**
   * The user's own new password, after the old one was checked. Ends all sessions, also the one that asks.
   * @throws StoreUnavailable, HashingBusy
   */
  async changePassword(
    whom: UserRef,
    password: string,
    by: CommandContext,
  ): Promise<{ passwordHash: string; sessionEpoch: number } | UserChangeRefusal> {
    const refusal = passwordRefusal(password);
    if (refusal !== null) return refusal;
    const user = await this.load(whom);
    if (user === null) return { refused: 'USER_NOT_FOUND' };
    const passwordHash = await this.options.passwords.hashNew(user.organizationId, password);
    if (!(await this.credentials.setPassword(whom.userId, passwordHash)))
      return { refused: 'USER_NOT_FOUND' };
    const command = { type: 'ChangeUserPassword', at: now(), data: {} } as const;
    const changed = await this.users.execute(whom.userId, command, by);
    if ('refused' in changed || changed.state === null) return { refused: 'USER_NOT_FOUND' };
    await this.sessions.endAll(whom.userId);
    return { passwordHash, sessionEpoch: changed.state.sessionEpoch };
  }

  /**
   * The first step of an erasure (user-erasure.ts): ends the user for good, in the log. Operators, too, cannot end
   * the last administrator.
   * @throws StoreUnavailable
   */
  async end(
    userId: string,
    by: CommandContext,
  ): Promise<{ endedAt: string; hadEnded: boolean } | Refusal<'USER_NOT_FOUND' | 'LAST_ADMIN'>> {
    const before = (await this.users.load(userId)).state;
    if (before === null) return { refused: 'USER_NOT_FOUND' };
    const whom = { userId, organizationId: before.organizationId };
    const refusal = await this.keepingAnAdmin(whom, async (sparesAdmins) => {
      const command = { type: 'EraseUser', at: now(), data: { sparesAdmins } } as const;
      const ended = await this.users.execute(userId, command, by);
      if ('refused' in ended)
        return { refused: ended.refused as 'USER_NOT_FOUND' | 'USER_IS_ADMIN' };
    });
    if (refusal !== undefined) return refusal;
    const after = (await this.users.load(userId)).state;
    return { endedAt: after?.updatedAt ?? now(), hadEnded: isErased(before) };
  }

  /** A secret that counts once `confirmTotp` got a code of it. @throws StoreUnavailable */
  async prepareTotp(userId: string): Promise<string> {
    const secret = generateTotpSecret();
    const sealed = await this.options.keyring.seal(ownerOf.user(userId), secret, totpPlace);
    await this.credentials.setTotpCandidate(userId, sealed);
    return secret;
  }

  /** From now on signing in takes a one-time code. @throws StoreUnavailable */
  async confirmTotp(whom: UserRef, code: string, by: CommandContext): Promise<void | TotpRefusal> {
    const sealed = await this.credentials.totpCandidate(whom.userId);
    if (sealed === null) return { refused: 'WRONG_CODE' };
    const secret = await this.options.keyring.open(sealed, ownerOf.user(whom.userId), totpPlace);
    const step = totpStepOf(secret, code, Date.now());
    if (step === null) return { refused: 'WRONG_CODE' };
    if (!(await this.credentials.confirmTotp(whom.userId, sealed, step)))
      return { refused: 'WRONG_CODE' };
    return this.change(whom, { type: 'EnableUserTotp', at: now(), data: {} }, by);
  }

  /** After the user has proven who it is once more. Ends all sessions. @throws StoreUnavailable */
  async disableTotp(
    whom: UserRef,
    by: CommandContext,
  ): Promise<{ sessionEpoch: number } | Refusal<'USER_NOT_FOUND'>> {
    if ((await this.load(whom)) === null) return { refused: 'USER_NOT_FOUND' };
    await this.credentials.removeTotp(whom.userId);
    const command = { type: 'DisableUserTotp', at: now(), data: {} } as const;
    const disabled = await this.users.execute(whom.userId, command, by);
    if ('refused' in disabled || disabled.state === null) return { refused: 'USER_NOT_FOUND' };
    await this.sessions.endAll(whom.userId);
    return { sessionEpoch: disabled.state.sessionEpoch };
  }

  /** A change after which the user may be no administrator any more. */
  private async keepingAnAdmin(
    whom: UserRef,
    change: (sparesAdmins: boolean) => Promise<void | Refusal<'USER_NOT_FOUND' | 'USER_IS_ADMIN'>>,
  ): Promise<void | Refusal<'USER_NOT_FOUND' | 'LAST_ADMIN'>> {
    const { userId, organizationId } = whom;
    const done = await change(organizationId !== null);
    if (done?.refused === 'USER_IS_ADMIN' && organizationId !== null)
      return this.adminChanges.oneAtATime(organizationId, async () => {
        if (!(await this.hasAnotherAdmin(organizationId, userId))) return { refused: 'LAST_ADMIN' };
        return settled(await change(false));
      });
    return settled(done);
  }

  /** Whether somebody else can administer the organization. One that cannot be read does not count. */
  private async hasAnotherAdmin(organizationId: string, userId: string): Promise<boolean> {
    const rows = await this.credentials.ofOrganization(organizationId);
    const others = rows.filter((row) => row.hasPassword && row.userId !== userId);
    const ids = others.map((row) => row.userId);
    const found = await this.loadAll(ids, passOver);
    return found.some(
      (one) => one !== null && one.organizationId === organizationId && isActiveAdmin(one),
    );
  }

  /** In the order of the IDs. Streams are read a page at a time, and a few at once. */
  private async loadAll(
    userIds: readonly string[],
    onUnreadable?: OnUnreadable,
  ): Promise<readonly (User | null)[]> {
    const load = (userId: string) =>
      this.users.load(userId).catch((error: unknown) => {
        if (onUnreadable === undefined || isTransient(error)) throw error;
        onUnreadable(userId, error);
        return { state: null };
      });
    const found: (User | null)[] = [];
    for (let from = 0; from < userIds.length; from += loadingMax) {
      const some = userIds.slice(from, from + loadingMax);
      const loaded = await Promise.all(some.map(load));
      found.push(...loaded.map(({ state }) => state));
    }
    return found;
  }

  /** A user of another organization is as unknown as one that does not exist. */
  private async load({ userId, organizationId }: UserRef): Promise<User | null> {
    const { state } = await this.users.load(userId);
    if (state === null || isErased(state)) return null;
    return organizationId === null || state.organizationId === organizationId ? state : null;
  }

  /** The aggregate refuses these commands only for a user that does not exist. */
  private async change<Refused extends UserRefusal = 'USER_NOT_FOUND'>(
    whom: UserRef,
    command: UserCommand,
    by: CommandContext,
  ): Promise<void | Refusal<Refused>> {
    const unknown = { refused: 'USER_NOT_FOUND' as Refused };
    if ((await this.load(whom)) === null) return unknown;
    const result = await this.users.execute(whom.userId, command, by);
    if ('refused' in result) return { refused: result.refused as Refused };
  }
}

/** Without the refusal that a command gives only when it spares administrators. */
function settled(
  done: void | Refusal<'USER_NOT_FOUND' | 'USER_IS_ADMIN'>,
): void | Refusal<'USER_NOT_FOUND'> {
  if (done?.refused === 'USER_IS_ADMIN') throw new Error('a change spared an administrator');
  return done as void | Refusal<'USER_NOT_FOUND'>;
}

function viewOf(
  { userId, organizationId, email, role, isDisabled, hasTotp, createdAt }: User,
  row: { readonly lockedUntil: Date | null; readonly lastSignInAt: Date | null },
): UserView {
  return {
    userId,
    organizationId,
    email,
    role,
    disabled: isDisabled,
    oneTimeCodes: hasTotp,
    lockedUntil: row.lockedUntil?.toISOString() ?? null,
    lastSignInAt: row.lastSignInAt?.toISOString() ?? null,
    createdAt,
  };
}

function now(): string {
  return new Date().toISOString();
}

/** For messages to people. */
export const passwordRule = `a password must have ${passwordLength.min} to ${passwordLength.max} characters`;
