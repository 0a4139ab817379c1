import { randomUUID } from 'node:crypto';
import { user as users } from '@pis/domain';
import { beginning, repository } from '@pis/event-store';
import { Credentials, usersMax } from './credentials.js';
import {
  at,
  by,
  newEmail,
  other,
  password,
  usersWorld,
  type UsersWorld,
} from './testing/users-world.js';
import { emailMacOf } from './users.js';

let world: UsersWorld;
beforeAll(async () => {
  world = await usersWorld();
});
afterAll(() => world?.close());

describe('creating a user', () => {
  let organizationId: string;
  beforeEach(async () => {
    organizationId = await world.newOrganization();
  });

  it('makes one who can sign in', async () => {
    const { userId, email, ref } = await world.newUser('approver');
    const { organizationId } = ref;
    const { user, token } = await world.signedIn(email);
    expect(user).toMatchObject({ userId, organizationId, email, role: 'approver' });
    expect(await world.aProcess().userOf(token)).toMatchObject({ userId });
    expect(await world.users.list(organizationId)).toEqual([
      {
        userId,
        organizationId,
        email,
        role: 'approver',
        disabled: false,
        oneTimeCodes: false,
        lockedUntil: null,
        lastSignInAt: expect.any(String) as unknown,
        createdAt: expect.any(String) as unknown,
      },
    ]);
  });

  it('generates a password when none is given', async () => {
    const email = newEmail();
    const created = await world.users.create({ organizationId, email, role: 'viewer' }, by);
    if ('refused' in created) throw new Error(created.refused);
    expect(created.password).toHaveLength(24);
    await world.signedIn(email, created.password);
  });

  it('refuses an e-mail address that is in use, in any case and any organization', async () => {
    const { email, ref } = await world.newUser();
    const { organizationId } = ref;
    const again = { email: email.toUpperCase(), role: 'operator', password } as const;
    expect(await world.users.create({ ...again, organizationId }, by)).toEqual({
      refused: 'EMAIL_IN_USE',
    });
    const elsewhere = { ...again, organizationId: await world.newOrganization() };
    expect(await world.users.create(elsewhere, by)).toEqual({ refused: 'EMAIL_IN_USE' });
  });

  it.each([
    [{ email: 'nobody' }, 'EMAIL_INVALID'],
    [{ password: 'too short' }, 'PASSWORD_LENGTH'],
    [{ organizationId: randomUUID() }, 'ORGANIZATION_NOT_FOUND'],
  ])('refuses %p', async (given, refused) => {
    const input = {
      organizationId,
      email: newEmail(),
      role: 'viewer',
      password,
      ...given,
    } as const;
    expect(await world.users.create(input, by)).toEqual({ refused });
    expect(await world.users.list(organizationId)).toEqual([]);
  });

  it('gives one user when ten ask at the same time', async () => {
    const email = newEmail();
    const input = { organizationId, email, role: 'viewer', password } as const;
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, () => world.users.create(input, by)),
    );
    // Some are too many at once.
    const created = results.filter(
      (result) => result.status === 'fulfilled' && !('refused' in result.value),
    );
    expect(created).toHaveLength(1);
    expect(await world.users.list(organizationId)).toHaveLength(1);
    await world.signedIn(email);
  });

  it('hashes nothing for an address that is in use', async () => {
    const { email } = await world.newUser();
    const input = { organizationId, email, role: 'viewer', password } as const;
    expect(await world.usersThatHashNothing.create(input, by)).toEqual({ refused: 'EMAIL_IN_USE' });
  });

  it('says nothing about the address when the organization is full', async () => {
    const { email } = await world.newUser();
    await world.pool.query(
      `INSERT INTO user_credentials (user_id, email_mac, organization_id, password_hash)
        SELECT gen_random_uuid(), $1::text || '-' || n, $1::uuid, '' FROM generate_series(1, $2::int) AS n`,
      [organizationId, usersMax],
    );
    for (const given of [email, newEmail()]) {
      const input = { organizationId, email: given, role: 'viewer', password } as const;
      expect(await world.usersThatHashNothing.create(input, by)).toEqual({
        refused: 'TOO_MANY_USERS',
      });
    }
  });

  it('is completed by the next try, wherever the first one died', async () => {
    const credentials = new Credentials(world.pool);
    const [first, second] = [newEmail(), newEmail()];
    const [firstId, secondId] = [randomUUID(), randomUUID()];
    // It died after the address was reserved, here for another organization.
    const elsewhere = await world.newOrganization();
    const claim = { userId: firstId, emailMac: emailMacOf(world.keyring, first) };
    await credentials.claim({ ...claim, organizationId: elsewhere });
    // It died after the first event.
    const emailMac = emailMacOf(world.keyring, second);
    await credentials.claim({ userId: secondId, emailMac, organizationId });
    const data = { userId: secondId, organizationId, email: second, role: 'viewer' } as const;
    const command = { type: 'CreateUser', at, data } as const;
    await repository(world.store, users).create(secondId, command, by);

    expect(await world.users.list(organizationId)).toEqual([]);
    for (const email of [first, second]) {
      const half = await world.aProcess().signIn({ email, password, code: null });
      expect(half).toEqual({ refused: 'WRONG_CREDENTIALS' });
      const input = { organizationId, email, role: 'viewer', password } as const;
      expect(await world.users.create(input, by)).toMatchObject({ password });
      await world.signedIn(email);
    }
    const ids = (await world.users.list(organizationId)).map(({ userId }) => userId);
    expect(new Set(ids)).toEqual(new Set([firstId, secondId]));
  });
});

it('streams of users are never read whole', async () => {
  const { userId, email, ref } = await world.newUser();
  const whole = () => Promise.reject(new Error('whole streams are read'));
  const users = world.usersOver(
    Object.create(world.store, { readStreams: { value: whole } }) as typeof world.store,
  );
  expect(await users.list(ref.organizationId)).toMatchObject([{ userId }]);
  expect(await users.emailsOf(ref.organizationId, [randomUUID(), userId])).toEqual(
    new Map([[userId, email]]),
  );
});

describe('a user that cannot be read', () => {
  const addAdmin = async (organizationId: string) => {
    const input = { organizationId, email: newEmail(), role: 'admin', password } as const;
    const created = await world.users.create(input, by);
    if ('refused' in created) throw new Error(created.refused);
    return { userId: created.userId, organizationId };
  };
  const usersWithout = ({ userId }: { readonly userId: string }, error: Error) => {
    const readStream: typeof world.store.readStream = (streamId, ...rest) =>
      streamId === `user-${userId}`
        ? Promise.reject(error)
        : world.store.readStream(streamId, ...rest);
    return world.usersOver(
      Object.create(world.store, { readStream: { value: readStream } }) as typeof world.store,
    );
  };
  const damaged = new Error('unknown type of event');

  it('has no e-mail address, and all others have theirs', async () => {
    const { userId, email, ref } = await world.newUser('admin');
    const unreadable = await addAdmin(ref.organizationId);
    const ids = [unreadable.userId, userId];
    const emails = await usersWithout(unreadable, damaged).emailsOf(ref.organizationId, ids);
    expect(emails).toEqual(new Map([[userId, email]]));
    const away = Object.assign(new Error('away'), { isUnavailable: true });
    const failing = usersWithout(unreadable, away).emailsOf(ref.organizationId, ids);
    await expect(failing).rejects.toBe(away);
  });

  it('is not the administrator that an organization keeps, and keeps nobody from disabling others', async () => {
    const { ref: first } = await world.newUser('admin');
    const unreadable = await addAdmin(first.organizationId);
    const users = usersWithout(unreadable, damaged);
    expect(await users.disable(first, by)).toEqual({ refused: 'LAST_ADMIN' });
    await addAdmin(first.organizationId);
    expect(await users.disable(first, by)).toBeUndefined();
  });
});

it('users of another organization are as unknown as those who do not exist', async () => {
  const { userId } = await world.newUser();
  const ref = { userId, organizationId: await world.newOrganization() };
  const unknown = { userId: randomUUID(), organizationId: ref.organizationId };
  for (const whom of [ref, unknown]) {
    expect(await world.users.changeRole(whom, 'admin', by)).toEqual({ refused: 'USER_NOT_FOUND' });
    expect(await world.users.disable(whom, by)).toEqual({ refused: 'USER_NOT_FOUND' });
    expect(await world.users.enable(whom, by)).toEqual({ refused: 'USER_NOT_FOUND' });
    expect(await world.users.reset(whom, null, by)).toEqual({ refused: 'USER_NOT_FOUND' });
    expect(await world.users.changePassword(whom, other, by)).toEqual({
      refused: 'USER_NOT_FOUND',
    });
    expect(await world.users.disableTotp(whom, by)).toEqual({ refused: 'USER_NOT_FOUND' });
  }
});

it('no password, secret or e-mail address is stored in the clear', async () => {
  const { userId, email } = await world.newUser();
  const secret = await world.users.prepareTotp(userId);
  await world.signedIn(email);
  const { events } = await world.store.readLog({
    after: beginning,
    pageMax: 1_000,
    leaveSealed: true,
  });
  const tables = await Promise.all(
    ['user_credentials', 'user_sessions'].map((table) =>
      world.pool.query(`SELECT * FROM ${table}`),
    ),
  );
  const stored = JSON.stringify([events, tables.map(({ rows }) => rows as unknown[])]);
  for (const text of [password, secret, email]) expect(stored).not.toContain(text);
});

describe('the last administrator of an organization', () => {
  async function administrators(count: number) {
    const organizationId = await world.newOrganization();
    const create = async () => {
      const input = { organizationId, email: newEmail(), role: 'admin', password } as const;
      const created = await world.users.create(input, by);
      if ('refused' in created) throw new Error(created.refused);
      return { userId: created.userId, organizationId };
    };
    const refs = [];
    for (let number = 1; number <= count; number += 1) refs.push(await create());
    return { organizationId, refs };
  }
  const activeAdmins = async (organizationId: string) =>
    (await world.users.list(organizationId)).filter(
      ({ role, disabled }) => role === 'admin' && !disabled,
    );

  it('can be neither disabled nor demoted', async () => {
    const { organizationId, refs } = await administrators(2);
    const [first, second] = refs as [(typeof refs)[0], (typeof refs)[0]];
    expect(await world.users.disable(first, by)).toBeUndefined();
    // A disabled one does not count.
    expect(await world.users.disable(second, by)).toEqual({ refused: 'LAST_ADMIN' });
    expect(await world.users.changeRole(second, 'viewer', by)).toEqual({ refused: 'LAST_ADMIN' });
    await world.users.enable(first, by);
    expect(await world.users.changeRole(second, 'viewer', by)).toBeUndefined();
    expect(await activeAdmins(organizationId)).toHaveLength(1);
  });

  it('stays when administrators take each other away at the same time, in different processes', async () => {
    for (let round = 1; round <= 5; round += 1) {
      const { organizationId, refs } = await administrators(3);
      const results = await Promise.all(
        refs.map((ref, index) =>
          index === 0
            ? world.usersOver(world.store).changeRole(ref, 'viewer', by)
            : world.usersOver(world.store).disable(ref, by),
        ),
      );
      expect(results.filter((result) => result?.refused === 'LAST_ADMIN')).toHaveLength(1);
      expect(await activeAdmins(organizationId)).toHaveLength(1);
    }
  }, 60_000);

  it('can be disabled by an operator, who can create another', async () => {
    const { refs } = await administrators(1);
    const userId = refs[0]?.userId ?? '';
    expect(await world.users.disable({ userId, organizationId: null }, by)).toBeUndefined();
  });
});
