/** A store belongs to one environment and one master key, a database to one log. */
import { createHmac, hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import { apiKey, type Environment, originator, storeBinding } from '@pis/domain';
import {
  domainEventOf,
  type EventStore,
  memoryEventStore,
  repository,
  systemContext,
} from '@pis/event-store';
import {
  createKeyring,
  keysStatus,
  macRootPurpose,
  macUnder,
  MasterKeys,
  pgDataKeyTable,
  readMacRoot,
  rotateKeys,
  type StoredKeyring,
  storeMacRoot,
} from '@pis/keyring';
import { createV1Key } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { bindStore, rebindDatabase, shutOutOlderReleases } from './store-binding.js';

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
/** What was logged as an error. */
let errors: unknown[];
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 8);
  store = memoryEventStore();
  keyBytes = masterKey();
  key = keyringOf(keyBytes);
  errors = [];
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
  const logger = { error: (...line: unknown[]) => void errors.push(line) };
  const given = { store: log, pool, environment, keyring, by, logger };
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
  const metadata = { ...by, at, schemaVersion: 1, previousHash: null };
  await store.append('originator-o1', 'noStream', [
    { id: randomUUID(), type: 'OriginatorCreated', data: party, metadata },
  ]);
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

describe('the keys of a store', () => {
  const rotate = (...keys: Buffer[]) =>
    rotateKeys({
      pool,
      store,
      masterKeys: new MasterKeys(keys),
      shutOutOlderReleases: () => shutOutOlderReleases(store, by),
    });

  it('may be rotated: the new one alone is refused before, and does alone after', async () => {
    await bind();
    const sealed = await key.seal('contact:1', 'text');
    const [cursor, next] = [key.mac('cursor', 'text'), masterKey()];
    const alone = keyringOf(next);
    await expect(bind({ keyring: alone })).rejects.toThrow(key.activeKeyId);
    await bind({ keyring: keyringOf(keyBytes, next) });
    await bind({ keyring: keyringOf(next, keyBytes) });
    await expect(bind({ keyring: alone, checkOnly: true })).rejects.toThrow(key.activeKeyId);
    await rotate(next, keyBytes);
    await bind({ keyring: alone, checkOnly: true });
    await bind({ keyring: alone });
    expect(alone.mac('cursor', 'text')).toBe(cursor);
    expect(await alone.open(sealed, 'contact:1')).toBe('text');
    const former = keyringOf(keyBytes);
    await expect(bind({ keyring: former })).rejects.toThrow(alone.activeKeyId);
  });

  it.each(['was bound', 'was not bound'])(
    'of an older release that %s keep every MAC and text, through a rotation',
    async (how) => {
      const { masterKeys } = key;
      const root = masterKeys.firstMacRootOf(masterKeys.activeKeyId) ?? Buffer.alloc(0);
      const cursor = macUnder(root, 'cursor', 'text');
      await fill('sandbox');
      if (how === 'was bound') await bindAsOlderRelease(root);
      const next = masterKey();
      await expect(bind({ keyring: keyringOf(next) })).rejects.toThrow(masterKeys.activeKeyId);
      const both = keyringOf(next, keyBytes);
      await bind({ keyring: both, checkOnly: true });
      await bind({ keyring: both });
      expect(both.mac('cursor', 'text')).toBe(cursor);
      const sealed = await sealedInLog();
      await rotate(next, keyBytes);
      const alone = keyringOf(next);
      await bind({ keyring: alone });
      expect(alone.mac('cursor', 'text')).toBe(cursor);
      expect(await alone.open(sealed, 'originator:o1')).toBe('{}');
    },
  );

  it('of an older release: the new key and the tables do not give the former master key back', async () => {
    const derived = (info: string) => Buffer.from(hkdfSync('sha256', keyBytes, '', info, 32));
    const extract = createHmac('sha256', Buffer.alloc(32)).update(keyBytes).digest();
    await fill('sandbox');
    const next = masterKey();
    await bind({ keyring: keyringOf(next, keyBytes) });
    await rotate(next, keyBytes);
    const alone = keyringOf(next);
    await bind({ keyring: alone });
    const stored = await readMacRoot(pool);
    if (stored === null) throw new Error('no root');
    const root = alone.masterKeys.unwrap(stored.key, macRootPurpose);
    for (const secret of [extract, keyBytes, derived('pis/v1/wrap')])
      expect(root.includes(secret)).toBe(false);
    const former = (purpose: string) =>
      createHmac('sha256', derived(`pis/v1/mac/${purpose}`))
        .update('text')
        .digest('hex');
    for (const purpose of [
      'store-binding',
      'contact-identity',
      'bank-account',
      'cursor',
      'stream-snapshot',
    ])
      expect(alone.mac(purpose, 'text')).toBe(former(purpose));
    expect(alone.mac('new purpose', 'text')).not.toBe(former('new purpose'));
  });

  it('are rotated: an older release, which does not know the last event of the binding, stays out', async () => {
    await bind();
    const next = masterKey();
    await rotate(next, keyBytes);
    const events = await store.readStream('store-binding');
    const schemaVersions = { StoreBound: 1, MasterKeyBound: 1 };
    const readByOlderRelease = () =>
      events.map((event) => domainEventOf({ ...storeBinding, schemaVersions }, event));
    expect(readByOlderRelease).toThrow('DataKeysMoved: unknown type of event');
    await rotate(masterKey(), next);
    expect(await store.readStream('store-binding')).toEqual(events);
  });

  it('of an older release: a text that it still writes after a rotation is counted and imported', async () => {
    await fill('sandbox');
    const next = masterKey();
    await bind({ keyring: keyringOf(next, keyBytes) });
    await rotate(next, keyBytes);
    const sealed = createV1Key(keyBytes).seal('contact:late', 'text');
    const metadata = { ...by, at: new Date().toISOString(), schemaVersion: 1, previousHash: null };
    const data = { contactId: 'late', bankAccount: { sealed } };
    await store.append('contact-late', 'noStream', [
      { id: randomUUID(), type: 'ContactCreated', data, metadata },
    ]);
    const dependents = async () => {
      const masterKeys = new MasterKeys([next, keyBytes]);
      const { keys } = await keysStatus({ pool, store, masterKeys });
      return keys.find(({ keyId }) => keyId === key.activeKeyId)?.dependents;
    };
    expect(await dependents()).toBe(1);
    expect(await rotate(next, keyBytes)).toMatchObject({ imported: 1 });
    expect(await dependents()).toBe(0);
    expect(await keyringOf(next).open(sealed, 'contact:late')).toBe('text');
  });

  it('were rotated: a process whose first key was replaced is refused', async () => {
    await bind();
    const next = masterKey();
    await rotate(next, keyBytes);
    const stale = bind({ keyring: keyringOf(keyBytes, next) });
    await expect(stale).rejects.toMatchObject({ name: 'ConfigurationError' });
    await expect(stale).rejects.toThrow(
      `PIS_MASTER_KEY: the first master key, ${key.activeKeyId}, was replaced by a rotation`,
    );
    await bind({ keyring: keyringOf(next, keyBytes) });
  });

  it('under a master key that only another process has stop no start, and are logged', async () => {
    await bind();
    const stray = keyringOf(masterKey(), keyBytes);
    await bind({ keyring: stray });
    const sealed = await stray.seal('contact:stray', 'text');
    await bind();
    expect(errors).toMatchObject([[{ masterKeyIds: [stray.activeKeyId] }, expect.any(String)]]);
    await expect(key.open(sealed, 'contact:stray')).rejects.toThrow(stray.activeKeyId);
  });

  async function bindAsOlderRelease(root: Buffer): Promise<void> {
    const at = new Date().toISOString();
    const data = { storeId: randomUUID(), environment: 'sandbox' } as const;
    const bindings = repository(store, storeBinding);
    await bindings.execute('binding', { type: 'BindStore', at, data }, by);
    const check = macUnder(root, 'store-binding', data.storeId);
    const keyId = key.activeKeyId;
    const bindKey = { type: 'BindMasterKey', at, data: { keyId, check } } as const;
    await bindings.execute('binding', bindKey, by);
  }

  async function sealedInLog(): Promise<string> {
    const { state } = await repository(store, originator).load('o1');
    return state?.bankAccount?.sealed ?? '';
  }

  it('that were lost with the tables are missed at once: no other root is drawn', async () => {
    await bind();
    await pool.query('TRUNCATE data_keys, keyring_state');
    await expect(bind({ keyring: keyringOf(keyBytes) })).rejects.toThrow(
      'this database does not hold the keys of the event store',
    );
    await expect(bind({ keyring: newKey() })).rejects.toThrow(key.activeKeyId);
    expect((await pool.query('SELECT FROM keyring_state')).rows).toEqual([]);
  });

  it('of another store are refused', async () => {
    await bind();
    await pool.query('TRUNCATE data_keys, keyring_state');
    const { masterKeys } = key;
    await storeMacRoot(pool, masterKeys, { root: randomBytes(32), v1KeyId: null });
    await expect(bind({ keyring: keyringOf(keyBytes) })).rejects.toThrow('another one');
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
      const logger = { error: () => undefined };
      const stores = { store: other, pool: otherPool };
      await bindStore({ ...stores, environment: 'sandbox', keyring: null, by, logger });
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
