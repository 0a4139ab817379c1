import { organization as organizations } from '@pis/domain';
import {
  memoryEventStore,
  repository,
  sealedStore,
  StreamStates,
  systemContext,
} from '@pis/event-store';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import { Passwords, SignIn, Users } from '@pis/users';
import { bootstrapDemoUser } from './demo-user.js';

it('the demo user may do everything, and the password is shown once', async () => {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 4);
  try {
    const keyring = await testKeyringOn(pool);
    const store = sealedStore(memoryEventStore(), keyring);
    const stores = { store, pool, keyring, passwords: new Passwords(), states: new StreamStates() };
    const organizationId = '00000000-0000-4000-8000-00000000de00';
    const feeSchedule = { discountBasisPoints: 0, flatFeeMinor: 0, returnFeeMinor: 0 };
    await repository(store, organizations).create(
      organizationId,
      {
        type: 'CreateOrganization',
        at: '2026-11-22T12:00:00.000Z',
        data: { organizationId, name: 'Demo', feeSchedule },
      },
      systemContext('test'),
    );
    const users = new Users(stores);
    const demo = await bootstrapDemoUser(users, organizationId);
    if (demo === null) throw new Error('there is no demo user');
    const signIn = new SignIn(stores);
    expect(await signIn.signIn({ ...demo, code: null })).toMatchObject({
      user: { organizationId, role: 'admin' },
    });
    expect(await bootstrapDemoUser(users, organizationId)).toBeNull();
    await expect(bootstrapDemoUser(users, '00000000-0000-4000-8000-000000000000')).rejects.toThrow(
      'ORGANIZATION_NOT_FOUND',
    );
  } finally {
    await pool.end();
    await database.drop();
  }
}, 30_000);
