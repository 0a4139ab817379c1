import { sandboxDirectory as banks } from '@pis/bank-rails';
import { apiKey as apiKeys, originator as originators } from '@pis/domain';
import {
  type EventStore,
  memoryEventStore,
  repository,
  sealedStore,
  StoreUnavailable,
} from '@pis/event-store';
import { openBankAccount } from '@pis/keyring';
import { testKeyring } from '@pis/keyring/testing';
import { bootstrapDemoOrganization } from './demo-organization.js';
import {
  createApiKey,
  createOrganization,
  createOriginator,
  digestOfApiKey,
  revokeApiKey,
} from './provisioning.js';
import { unrefused } from './use-case.js';

const by = {
  actor: 'user:operator',
  requestId: null,
  correlationId: 'correlation',
  causationId: null,
  traceparent: null,
};
const keyring = testKeyring();
const sealedMemory = () => sealedStore(memoryEventStore(), keyring);
const originator = {
  entityType: 'BUSINESS',
  companyName: 'Analytical Engines',
  email: 'money@example.com',
  bankAccount: {
    subType: 'CHECKING',
    achRoutingNumber: '021000021',
    achAccountNumber: '000123456789',
  },
};

describe('provisioning', () => {
  it('creates an organization, an originator with a sealed account, and a key kept as a digest', async () => {
    const store = sealedMemory();
    const context = { store, by };
    const { organizationId } = unrefused(await createOrganization(context, { name: ' Acme ' }));
    const { originatorId } = unrefused(
      await createOriginator(context, {
        organizationId,
        input: originator,
        keyring,
        banks,
      }),
    );
    const { apiKey, apiKeyId, type } = unrefused(
      await createApiKey(context, {
        organizationId,
        type: 'read_only',
        environment: 'sandbox',
      }),
    );
    expect(apiKey).toMatch(/^pis_test_[A-Za-z0-9_-]{43}$/);
    expect(type).toBe('read_only');

    const { state } = await repository(store, originators).load(originatorId);
    expect(state).toMatchObject({
      organizationId,
      bankAccount: { bankName: 'JPMorgan Chase Bank' },
    });
    if (!state?.bankAccount) throw new Error('no originator');
    const numbers = await openBankAccount(keyring, state.bankAccount, `originator:${originatorId}`);
    expect(numbers.achAccountNumber).toBe('000123456789');

    const key = await repository(store, apiKeys).load(digestOfApiKey(apiKey));
    expect(key.state).toMatchObject({ apiKeyId, organizationId, keyType: 'read_only' });
    const log = JSON.stringify((await store.readLog({ after: '' })).events);
    expect(log).not.toContain(apiKey);
    expect(log).not.toContain('000123456789');
  });

  it('names every problem of an originator file', async () => {
    const store = sealedMemory();
    const { organizationId } = unrefused(await createOrganization({ store, by }, { name: 'Acme' }));
    const input = { ...originator, email: 'x', bankAccount: null };
    const result = await createOriginator({ store, by }, { organizationId, input, keyring, banks });
    expect(result).toMatchObject({
      refused: 'INVALID_REQUEST',
      problems: [{ field: 'email' }, { field: 'bankAccount' }],
    });
  });

  it('refuses an unknown organization, a past expiry and a key of the other environment', async () => {
    const store = sealedMemory();
    const context = { store, by };
    const unknown = { organizationId: '00000000-0000-4000-8000-000000000000' } as const;
    const key = { type: 'full_access', environment: 'sandbox' } as const;
    expect(await createApiKey(context, { ...unknown, ...key })).toEqual({
      refused: 'ORGANIZATION_NOT_FOUND',
      ...unknown,
    });
    expect(
      await createOriginator(context, { ...unknown, input: originator, keyring, banks }),
    ).toEqual({
      refused: 'ORGANIZATION_NOT_FOUND',
      ...unknown,
    });
    const organization = unrefused(await createOrganization(context, { name: 'Acme' }));
    const expiresAt = '2001-01-01T00:00:00Z';
    expect(await createApiKey(context, { ...organization, ...key, expiresAt })).toEqual({
      refused: 'EXPIRY_NOT_IN_FUTURE',
    });
    const apiKey = 'pis_live_0123456789abcdef';
    expect(await createApiKey(context, { ...organization, ...key, apiKey })).toEqual({
      refused: 'API_KEY_PREFIX',
      environment: 'sandbox',
      prefix: 'pis_test_',
    });
  });

  it('refuses what exists already, and a name without characters', async () => {
    const context = { store: sealedMemory(), by };
    const created = unrefused(await createOrganization(context, { name: 'Acme' }));
    expect(await createOrganization(context, { name: 'Acme', ...created })).toEqual({
      refused: 'ORGANIZATION_ALREADY_EXISTS',
      ...created,
    });
    expect(await createOrganization(context, { name: '  ' })).toEqual({
      refused: 'ORGANIZATION_NAME_LENGTH',
      lengthMax: 200,
    });
    const options = { ...created, input: originator, keyring, banks };
    const { originatorId } = unrefused(await createOriginator(context, options));
    expect(await createOriginator(context, { ...options, originatorId })).toEqual({
      refused: 'ORIGINATOR_ALREADY_EXISTS',
      originatorId,
    });
    const key = { ...created, type: 'full_access', environment: 'sandbox' } as const;
    const { apiKey } = unrefused(await createApiKey(context, key));
    expect(await createApiKey(context, { ...key, apiKey })).toEqual({
      refused: 'API_KEY_ALREADY_EXISTS',
    });
  });

  it.each(['2199-01-31T12:00', '2199-01-31 12:00', 'Jan 31 2199', '2199', '2199-02-30', 'soon'])(
    'refuses the expiry %p: it could be another time on another machine, or none at all',
    async (expiresAt) => {
      const context = { store: sealedMemory(), by };
      const organization = unrefused(await createOrganization(context, { name: 'Acme' }));
      const key = { type: 'full_access', environment: 'sandbox', expiresAt } as const;
      expect(await createApiKey(context, { ...organization, ...key })).toEqual({
        refused: 'EXPIRY_NOT_ISO_8601',
      });
    },
  );

  it('revokes a key once, however often it is asked', async () => {
    const store = sealedMemory();
    const context = { store, by };
    const organization = unrefused(await createOrganization(context, { name: 'Acme' }));
    const key = { type: 'full_access', environment: 'production' } as const;
    const { apiKey } = unrefused(await createApiKey(context, { ...organization, ...key }));
    const digest = digestOfApiKey(apiKey);
    const first = unrefused(await revokeApiKey(context, { digest }));
    expect(await revokeApiKey(context, { digest })).toEqual(first);
    expect(await store.readStream(`apiKey-${digest}`)).toHaveLength(2);
    expect(await revokeApiKey(context, { digest: 'f'.repeat(64) })).toEqual({
      refused: 'API_KEY_NOT_FOUND',
    });
  });
});

describe('the demo organization', () => {
  it('has two originators and one key, shown by the first start alone', async () => {
    const store = sealedMemory();
    const options = { store, keyring, banks, environment: 'sandbox' } as const;
    const first = await bootstrapDemoOrganization(options);
    expect(first.apiKey).toMatch(/^pis_test_/);
    expect(first.originatorIds).toHaveLength(2);
    const events = (await store.readLog({ after: '' })).events.length;
    const again = await bootstrapDemoOrganization({
      ...options,
      apiKey: 'pis_test_another_key_value',
    });
    expect(again).toEqual({ ...first, apiKey: null });
    expect((await store.readLog({ after: '' })).events).toHaveLength(events);
  });

  it('takes a given value as its first key', async () => {
    const apiKey = 'pis_test_given-in-the-environment';
    const store = sealedMemory();
    const result = await bootstrapDemoOrganization({
      store,
      keyring,
      banks,
      environment: 'sandbox',
      apiKey,
    });
    expect(result.apiKey).toBe(apiKey);
  });

  it('is completed by the next start when a start was cut off at any step', async () => {
    for (let appends = 0; appends < 4; appends += 1) {
      const store = sealedMemory();
      const options = { keyring, banks, environment: 'sandbox' } as const;
      const dying = dyingAfter(store, appends);
      await expect(bootstrapDemoOrganization({ ...options, store: dying })).rejects.toThrow('died');
      const { apiKey } = await bootstrapDemoOrganization({ ...options, store });
      expect(apiKey).not.toBeNull();
      const types = (await store.readLog({ after: '' })).events.map(({ type }) => type);
      expect(types).toEqual([
        'OrganizationCreated',
        'OriginatorCreated',
        'OriginatorCreated',
        'ApiKeyCreated',
      ]);
    }
  });

  it('says so when the store is away', async () => {
    const store = sealedMemory();
    await store.close();
    const options = { store, keyring, banks, environment: 'sandbox' } as const;
    await expect(bootstrapDemoOrganization(options)).rejects.toThrow(StoreUnavailable);
  });
});

/** The process that uses it dies when it wants to append once more than `appends` times. */
function dyingAfter(store: EventStore, appends: number): EventStore {
  let left = appends;
  return {
    ...store,
    append: async (...args) => {
      left -= 1;
      if (left < 0) throw new Error('died');
      return store.append(...args);
    },
  };
}
