/** Users on a database and an event store of their own, for specs. */
import { randomUUID } from 'node:crypto';
import { organization as organizations, type UserRole } from '@pis/domain';
import {
  type EventStore,
  memoryEventStore,
  repository,
  sealedStore,
  StreamStates,
  systemContext,
} from '@pis/event-store';
import type { Keyring } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import type pg from 'pg';
import { Passwords } from '../passwords.js';
import { type SignedIn, SignIn, type SignInOptions } from '../sign-in.js';
import { Users } from '../users.js';

export const by = systemContext('test');
export const password = 'correct horse battery';
export const other = 'incorrect horse battery';
export const at = '2026-11-22T12:00:00.000Z';

const poolMax = 10;

export const newEmail = () => `ada-${randomUUID()}@example.com`;
export const refusalOf = (result: unknown) => (result as { refused?: string } | undefined)?.refused;

export interface UsersWorld {
  readonly pool: pg.Pool;
  readonly keyring: Keyring;
  readonly store: EventStore;
  readonly users: Users;
  readonly usersThatHashNothing: Users;
  usersOver(store: EventStore): Users;
  newOrganization(): Promise<string>;
  /** A user of a new organization. */
  newUser(role?: UserRole): Promise<{
    readonly email: string;
    readonly userId: string;
    readonly ref: { readonly userId: string; readonly organizationId: string };
  }>;
  /** As a process of its own. */
  aProcess(options?: Partial<SignInOptions>): SignIn;
  /** @throws Error when it is refused */
  signedIn(email: string, given?: string): Promise<SignedIn>;
  close(): Promise<void>;
}

class HashingNothing extends Passwords {
  override hash(): Promise<never> {
    return Promise.reject(new Error('nothing should be hashed'));
  }
}

export async function usersWorld(): Promise<UsersWorld> {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, poolMax);
  const keyring = await testKeyringOn(pool);
  const store = sealedStore(memoryEventStore(), keyring);
  const stores = { store, pool, keyring, passwords: new Passwords() };
  const users = new Users({ ...stores, states: new StreamStates() });
  const newOrganization = async () => {
    const id = randomUUID();
    const feeSchedule = { discountBasisPoints: 0, flatFeeMinor: 0, returnFeeMinor: 0 };
    const data = { organizationId: id, name: 'Test', feeSchedule };
    await repository(store, organizations).create(id, { type: 'CreateOrganization', at, data }, by);
    return id;
  };
  const aProcess = (options: Partial<SignInOptions> = {}) =>
    new SignIn({ ...stores, states: new StreamStates(), ...options });
  return {
    ...{ pool, keyring, store, users, newOrganization, aProcess },
    usersOver: (over) => new Users({ ...stores, store: over, states: new StreamStates() }),
    usersThatHashNothing: new Users({
      ...stores,
      passwords: new HashingNothing(),
      states: new StreamStates(),
    }),
    async newUser(role = 'operator') {
      const organizationId = await newOrganization();
      const email = newEmail();
      const created = await users.create({ organizationId, email, role, password }, by);
      if ('refused' in created) throw new Error(created.refused);
      const { userId } = created;
      return { email, userId, ref: { userId, organizationId } };
    },
    async signedIn(email, given = password) {
      const result = await aProcess().signIn({ email, password: given, code: null });
      if ('refused' in result) throw new Error(result.refused);
      return result;
    },
    async close() {
      await pool.end();
      await database.drop();
    },
  };
}
