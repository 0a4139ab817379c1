/** A store belongs to one environment and one master key, a database to one log. */
import { randomBytes } from 'node:crypto';
import { apiKey, type Environment, originator } from '@pis/domain';
import { type EventStore, memoryEventStore, repository, systemContext } from '@pis/event-store';
import { createKeyring, MasterKeys, pgDataKeyTable, type StoredKeyring } from '@pis/keyring';
import { createV1Key } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { bindStore, rebindDatabase } from './store-binding.js';

const by = systemContext('test');
const masterKey = () => randomBytes(32);
const keyringOf = (...keys: Buffer[]) =>
  createKeyring({ masterKeys: new MasterKeys(keys), table: pgDataKeyTable(pool) });
const newKey = () => keyringOf(masterKey());

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
let key: StoredKeyring;
let keyBytes: Buffer;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 8);
  store = memoryEventStore();
  keyBytes = masterKey();
  key = keyringOf(keyBytes);
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

interface Given {
  readonly environment?: Environment;
  readonly keyring?: StoredKeyring | null;
  readonly log?: EventStore;
  readonly checkOnly?: boolean;
}

function bind({ environment = 'sandbox', keyring = key, log = store, checkOnly }: Given = {}) {
  const given = { store: log, pool, environment, keyring, by };
  return bindStore({ ...given, ...(checkOnly === undefined ? {} : { checkOnly }) });
}

const eventsOf = async (log: EventStore) =>
  (await log.readLog({ after: '' })).events.map(({ type, data }) => ({ type, data }));

/** With the first records of an organization, as a release without a key table wrote them. */
async function fill(environment: Environment): Promise<void> {
  const at = new Date().toISOString();
  const { dataKey, seal } = createV1Key(keyBytes);
  const party = {
    originatorId: 'o1',
    organizationId: 'acme',
    entityType: 'BUSINESS',
    firstName: null,
    lastName: null,
    companyName: 'Acme',
    email: 'a@example.com',
    phoneNumber: null,
    legalAddress: null,
    bankAccount: {
      bankName: null,
      subType: 'CHECKING',
      achRoutingNumber: '*****0021',
      achAccountNumber: '********6789',
      swiftCode: null,
      sealed: seal('originator:o1', '{}'),
    },
    dataKey,
  } as const;
  const createOriginator = { type: 'CreateOriginator', at, data: party } as const;
  await repository(store, originator).create('o1', createOriginator, by);
  const record = {
    apiKeyId: 'k1',
    digest: 'digest',
    organizationId: 'acme',
    keyType: 'full_access',
    environment,
    expiresAt: null,
  } as const;
  const createApiKey = { type: 'CreateApiKey', at, data: record } as const;
  await repository(store, apiKey).create('digest', createApiKey, by);
}

describe('a store', () => {
  it('is bound by its first process and accepted by all processes that match', async () => {
    await bind({ keyring: null });
    await bind();
    await Promise.all([bind(), bind(), bind({ keyring: null }), bind({ checkOnly: true })]);
    const [bound, keyBound, ...rest] = await eventsOf(store);
    expect(bound).toMatchObject({ type: 'StoreBound', data: { environment: 'sandbox' } });
    expect(keyBound).toMatchObject({ type: 'MasterKeyBound', data: { keyId: key.activeKeyId } });
    expect(rest).toEqual([]);
  });

  it('refuses a process of another environment, and says why', async () => {
    await bind();
    const refused = bind({ environment: 'production' });
    await expect(refused).rejects.toMatchObject({ name: 'ConfigurationError' });
    await expect(refused).rejects.toThrow(
      'PIS_ENVIRONMENT: this process is production, but the event store belongs to the sandbox',
    );
  });

  it('refuses a process with another master key, and names both keys without revealing them', async () => {
    await bind();
    const other = newKey();
    const refused = bind({ keyring: other });
    await expect(refused).rejects.toThrow(
      `PIS_MASTER_KEY: this process has the master key ${other.activeKeyId}, but the stores also need ${key.activeKeyId}`,
    );
    await expect(bind({ keyring: other, checkOnly: true })).rejects.toThrow('PIS_MASTER_KEY');
  });

  it('belongs to one of several processes that start first at the same time, and refuses the others', async () => {
    const keys = Array.from({ length: 8 }, newKey);
    const results = await Promise.allSettled(keys.map((keyring) => bind({ keyring })));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect((await eventsOf(store)).map(({ type }) => type)).toEqual([
      'StoreBound',
      'MasterKeyBound',
    ]);
  });

  it('is not bound by a check', async () => {
    await bind({ checkOnly: true });
    expect(await eventsOf(store)).toEqual([]);
    await bind({ environment: 'production' });
  });

  it('from an older release is bound only to an environment and key that match its records', async () => {
    const environment = 'production';
    await fill(environment);
    const before = await eventsOf(store);
    await expect(bind()).rejects.toThrow('PIS_ENVIRONMENT');
    await expect(bind({ environment, keyring: newKey() })).rejects.toThrow('PIS_MASTER_KEY');
    expect(await eventsOf(store)).toEqual(before);
    await bind({ environment });
  });
});

describe('a database', () => {
  it('is refused with another log or an emptied one, and that log stays unchanged', async () => {
    await bind();
    const emptied = memoryEventStore();
    await expect(bind({ log: emptied })).rejects.toThrow('the one in use is empty');
    expect(await eventsOf(emptied)).toEqual([]);

    const elsewhere = await createTestDatabase();
    const otherPool = openTestPool(elsewhere.url, 1);
    const other = memoryEventStore();
    try {
      // No key is bound yet. The refused process must not bind its own key.
      await bindStore({ store: other, pool: otherPool, environment: 'sandbox', keyring: null, by });
    } finally {
      await otherPool.end();
      await elsewhere.drop();
    }
    const refused = bind({ log: other });
    await expect(refused).rejects.toThrow('DATABASE_URL: this database belongs to');
    expect(await eventsOf(other)).toHaveLength(1);
  });

  it('restored from a copy works with its log', async () => {
    await bind();
    await pool.query('DELETE FROM store_binding');
    await bind();
    await bind();
  });

  it('works with another log after an operator rebinds it', async () => {
    await bind();
    const next = memoryEventStore();
    const { storeId, previousStoreId } = await rebindDatabase({ store: next, pool });
    expect({ storeId, previousStoreId }).toEqual({
      storeId: null,
      previousStoreId: expect.any(String) as string,
    });
    await bind({ log: next });
    await expect(bind()).rejects.toThrow('DATABASE_URL');
    const back = await rebindDatabase({ store, pool });
    expect(back.storeId).toBe(previousStoreId);
    await bind();
  });
});
