import { randomUUID } from 'node:crypto';
import { user as users } from '@pis/domain';
import { beginning, repository } from '@pis/event-store';
import { type Owner, ownerOf } from '@pis/keyring';
import { Credentials } from './credentials.js';
import { at, by, password, usersWorld, type UsersWorld } from './testing/users-world.js';
import { eraseUser, type UserErasureOptions } from './user-erasure.js';

let world: UsersWorld;
beforeAll(async () => {
  world = await usersWorld();
});
afterAll(() => world?.close());

const keysInUseMs = 1;
const client = { address: '203.0.113.77', userAgent: 'Marked/1.0' };

function erase(userId: string, changes: Partial<UserErasureOptions> = {}) {
  const { pool, keyring } = world;
  const destroyKeys = (owners: readonly Owner[]) => keyring.destroy(owners);
  return eraseUser({ users: world.users, pool, destroyKeys, keysInUseMs, ...changes }, userId, by);
}

/** All that is stored of users, as somebody with every key reads it. */
async function readable(): Promise<string> {
  const { events } = await world.store.readLog({ after: beginning, pageMax: 1_000 });
  const tables = ['user_credentials', 'user_sessions', 'stream_snapshots'];
  const rows = await Promise.all(
    tables.map(async (table) => (await world.pool.query(`SELECT * FROM ${table}`)).rows as unknown),
  );
  return JSON.stringify([events, rows]);
}

it('a user is erased: no address, no session, no way in; the ID stays as the actor', async () => {
  const { userId, email, ref } = await world.newUser('operator');
  const signIn = world.aProcess();
  const session = await signIn.signIn({ email, password, code: null, client });
  const token = 'token' in session ? session.token : '';
  const sealed = await world.keyring.seal(ownerOf.user(userId), 'a secret');
  expect(await readable()).toContain(email);

  const erased = await erase(userId);
  expect(erased).toEqual({ userId, erasedAt: expect.any(String), alreadyErased: false });
  expect(await signIn.userOf(token)).toBeNull();
  expect(await world.aProcess().signIn({ email, password, code: null })).toEqual({
    refused: 'WRONG_CREDENTIALS',
  });
  expect(await world.users.list(ref.organizationId)).toEqual([]);
  expect(await world.users.emailsOf(ref.organizationId, [userId])).toEqual(new Map());
  const stored = await readable();
  expect(stored).not.toContain(email);
  expect(stored).toContain(userId);
  await expect(world.keyring.open(sealed, ownerOf.user(userId))).rejects.toThrow();
  // Nothing can be done to the user any more, and the address is free.
  const operator = { userId, organizationId: null };
  expect(await world.users.enable(operator, by)).toEqual({ refused: 'USER_NOT_FOUND' });
  expect(await world.users.reset(operator, null, by)).toEqual({ refused: 'USER_NOT_FOUND' });
  const { organizationId } = ref;
  const again = await world.users.create({ organizationId, email, role: 'viewer', password }, by);
  expect(again).toMatchObject({ userId: expect.not.stringContaining(userId) as unknown });
});

it('the last administrator is not erased, nor is anything else', async () => {
  const { userId, email, ref } = await world.newUser('admin');
  expect(await erase(userId)).toEqual({ refused: 'LAST_ADMIN' });
  await world.signedIn(email);
  expect(await erase(randomUUID())).toEqual({ refused: 'USER_NOT_FOUND' });
  const { organizationId } = ref;
  const second = { organizationId, email: `b-${email}`, role: 'admin', password } as const;
  const created = await world.users.create(second, by);
  const results = await Promise.all([
    erase(userId),
    erase('userId' in created ? created.userId : ''),
  ]);
  expect(results.filter((one) => 'refused' in one)).toEqual([{ refused: 'LAST_ADMIN' }]);
});

it.each(['deleting the credentials', 'destroying the key'])(
  'an erasure that died before %s is ended by running it again',
  async (step) => {
    const { userId, email } = await world.newUser();
    const death = new Error('died here');
    const isFirst = step === 'deleting the credentials';
    const died = erase(
      userId,
      isFirst
        ? { pool: { query: () => Promise.reject(death) } as unknown as UsersWorld['pool'] }
        : { destroyKeys: () => Promise.reject(death) },
    );
    await expect(died).rejects.toThrow(death);
    // Signing in has ended with the first step.
    expect(await world.aProcess().signIn({ email, password, code: null })).toEqual({
      refused: 'WRONG_CREDENTIALS',
    });
    expect(await erase(userId)).toMatchObject({ alreadyErased: true });
    expect(await readable()).not.toContain(email);
  },
);

it('what a backup brings back is erased by running it again', async () => {
  const { userId, email, ref } = await world.newUser();
  await erase(userId);
  const claim = { userId, emailMac: world.keyring.mac('user-email', email) };
  await new Credentials(world.pool).claim({ ...claim, organizationId: ref.organizationId });
  expect(await erase(userId)).toMatchObject({ userId, alreadyErased: true });
  const { rows } = await world.pool.query('SELECT FROM user_credentials WHERE user_id = $1', [
    userId,
  ]);
  expect(rows).toEqual([]);
});

it('a user with an ID of before the erasure is not created anew', async () => {
  const { userId, email, ref } = await world.newUser();
  await erase(userId);
  const input = { organizationId: ref.organizationId, email, role: 'operator', password } as const;
  expect(await world.users.create({ ...input, userId }, by)).toEqual({ refused: 'EMAIL_IN_USE' });
  const command = { type: 'EnableUser', at, data: {} } as const;
  expect(await repository(world.store, users).execute(userId, command, by)).toEqual({
    refused: 'USER_NOT_FOUND',
  });
});
