import { CannotOpen, KeyDestroyed } from './cipher.js';
import type { DataKeyTable } from './data-key-table.js';
import { createKeyring } from './keyring.js';
import { MasterKeys } from './master-keys.js';
import type { Owner } from './owner.js';
import { memoryDataKeyTable, testKeyring, testMasterKeys } from './testing.js';
import { createV1Key } from './testing/v1-key.js';

const owner: Owner = 'contact:5f0c3c3e-6c0a-4a59-9d7a-0a8d4c1d7a11';
const secret = '{"achAccountNumber":"000123456789"}';

describe('keyring', () => {
  const table = memoryDataKeyTable();
  const keyring = testKeyring(7, table);

  it('opens for the owner what was sealed for the owner, in any process with the same keys', async () => {
    const sealed = await keyring.seal(owner, secret);
    expect(await keyring.open(sealed, owner)).toBe(secret);
    const other = testKeyring(7, table);
    expect(await other.open(sealed, owner)).toBe(secret);
    expect(await keyring.open(await other.seal(owner, 'ünï'), owner)).toBe('ünï');
  });

  it('shows nothing of the secret or of a key, and never the same text twice', async () => {
    const [one, two] = [await keyring.seal(owner, secret), await keyring.seal(owner, secret)];
    expect(one).not.toBe(two);
    expect(one).toMatch(/^v2\.1\.[\w-]{16}\.[\w-]+$/);
    const withTag = secret.length + 16;
    expect(Buffer.from(one.split('.')[3] ?? '', 'base64url')).toHaveLength(withTag);
  });

  it('opens what it has just sealed as every other process does', async () => {
    for (const text of ['', 'ünï', 'lone \ud800 surrogate', '\0', 'long '.repeat(1_000)]) {
      const sealed = await keyring.seal(owner, text);
      const elsewhere = await testKeyring(7, table).open(sealed, owner);
      expect([await keyring.open(sealed, owner), await keyring.open(sealed, owner)]).toEqual([
        elsewhere,
        elsewhere,
      ]);
    }
  });

  it('refuses a text that was moved to another record', async () => {
    const sealed = await keyring.seal(owner, secret);
    await keyring.seal('contact:another', secret);
    await expect(keyring.open(sealed, 'contact:another')).rejects.toThrow(CannotOpen);
    await expect(keyring.open(sealed, 'contact:unknown')).rejects.toThrow(CannotOpen);
  });

  it('opens a text that was sealed for a place only there, and any text of before', async () => {
    const sealed = await keyring.seal(owner, secret, 'payment-1 0');
    expect(sealed).toMatch(/^v3\.1\.[\w-]{16}\.[\w-]+$/);
    expect(await keyring.open(sealed, owner, 'payment-1 0')).toBe(secret);
    for (const place of ['payment-2 0', 'payment-1 1', '', undefined])
      await expect(keyring.open(sealed, owner, place)).rejects.toThrow(CannotOpen);
    const asBefore = sealed.replace('v3.', 'v2.');
    await expect(keyring.open(asBefore, owner, 'payment-1 0')).rejects.toThrow(CannotOpen);
    const before = await keyring.seal(owner, secret);
    expect(await keyring.open(before, owner, 'payment-1 0')).toBe(secret);
    const texts = ['payment-1 0', 'payment-2 0'].map((place) => ({ sealed, owner, place }));
    expect(await keyring.openAll(texts.slice(0, 1))).toEqual([secret]);
    await expect(keyring.openAll(texts)).rejects.toThrow(CannotOpen);
  });

  it('refuses a text altered in any place, cut short, or of no known version', async () => {
    const sealed = await keyring.seal(owner, secret);
    for (let at = 0; at < sealed.length; at += 1) {
      // The last character of a base64url part may carry unused bits: flip the highest of the six.
      const other = sealed[at] === 'A' ? 'g' : 'A';
      const altered = sealed.slice(0, at) + other + sealed.slice(at + 1);
      await expect(keyring.open(altered, owner)).rejects.toThrow(CannotOpen);
    }
    const { dataKey } = createV1Key(Buffer.alloc(32, 7));
    const hostile = [
      '',
      'v2',
      'v2....',
      'v2.1.a.b',
      'v2.-1.a.b',
      `v1.${dataKey}.a.b`,
      'v1.a.b.c.d.e',
    ];
    for (const text of [...hostile, sealed.slice(0, -30), `${sealed}.x`])
      await expect(keyring.open(text, owner)).rejects.toThrow(CannotOpen);
  });

  it('refuses a data key that was moved to another owner', async () => {
    const keys = testMasterKeys(7);
    const victim = testKeyring(7, table);
    const sealed = await victim.seal('contact:victim', secret);
    const moved: DataKeyTable = {
      ...table,
      read: async (owners) => {
        const read = await table.read(['contact:victim']);
        return {
          ...read,
          keys: read.keys.map((key) => ({ ...key, owner: owners[0] ?? key.owner })),
        };
      },
    };
    const attacked = createKeyring({ masterKeys: keys, table: moved });
    await expect(attacked.open(sealed, owner)).rejects.toThrow(CannotOpen);
  });

  it('waits for a master key that the process does not have, and names it', async () => {
    const sealed = await keyring.seal(owner, secret);
    const other = testKeyring(8, table);
    for (const refused of [other.open(sealed, owner), other.seal(owner, secret)])
      await expect(refused).rejects.toMatchObject({
        isUnavailable: true,
        message: expect.stringContaining(keyring.activeKeyId) as string,
      });
  });

  it('opens many texts of many owners with one query', async () => {
    const owners = Array.from({ length: 50 }, (_, n) => `contact:many-${n}` as const);
    const texts = await Promise.all(
      owners.map(async (one) => ({ owner: one, sealed: await keyring.seal(one, one) })),
    );
    await keyring.destroy(['contact:many-3']);
    let queries = 0;
    const counting = testKeyring(7, {
      ...table,
      read: (asked) => ((queries += 1), table.read(asked)),
    });
    const expected = owners.map((one) => (one === 'contact:many-3' ? null : one));
    expect(await counting.openAll([...texts, ...texts])).toEqual([...expected, ...expected]);
    expect(queries).toBe(1);
    await counting.openAll(texts);
    expect(queries).toBe(1);
  });

  it('creates one key for an owner, however many processes seal first', async () => {
    const fresh = memoryDataKeyTable();
    const processes = Array.from({ length: 8 }, () => testKeyring(7, fresh));
    const sealed = await Promise.all(processes.map((one) => one.seal(owner, secret)));
    for (const text of sealed) expect(await testKeyring(7, fresh).open(text, owner)).toBe(secret);
    expect((await fresh.read([owner])).keys).toHaveLength(1);
  });

  it('creates a key with one query, and finds one that is there with one query', async () => {
    const fresh = memoryDataKeyTable();
    const asked: string[] = [];
    const counting: DataKeyTable = {
      ...fresh,
      read: (owners) => (asked.push('read'), fresh.read(owners)),
      createMissing: (keys) => (asked.push('create'), fresh.createMissing(keys)),
    };
    for (const process of [testKeyring(7, counting), testKeyring(7, counting)]) {
      asked.length = 0;
      for (const text of ['one', 'two']) await process.seal(owner, text);
      expect(asked).toEqual(['create']);
    }
    expect((await fresh.read([owner])).keys).toHaveLength(1);
  });

  it('keeps the keys of a bounded number of owners in memory', async () => {
    const asked = new Set<Owner>();
    const counted: DataKeyTable = {
      ...table,
      read: (owners) => {
        for (const one of owners) asked.add(one);
        return table.read(owners);
      },
    };
    const keyring = createKeyring({
      ...{ masterKeys: testMasterKeys(7), table: counted, nowMs: () => 0 },
    });
    const owners = Array.from({ length: 20_000 }, (_, n): Owner => `contact:${n}`);
    await keyring.destroyedOf(owners);
    asked.clear();
    await keyring.destroyedOf(owners);
    expect(asked).toEqual(new Set(owners.slice(0, 10_000)));
  });

  it('makes hashes that depend on the purpose, the text and the MAC root', () => {
    const hash = keyring.mac('cursor', 'text');
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(testKeyring().mac('cursor', 'text')).toBe(hash);
    const others = [
      keyring.mac('contact-identity', 'text'),
      keyring.mac('cursor', 'texts'),
      testKeyring(8).mac('cursor', 'text'),
    ];
    expect(new Set([hash, ...others]).size).toBe(4);
    const unchecked = createKeyring({ masterKeys: testMasterKeys(7), table });
    expect(() => unchecked.mac('cursor', 'text')).toThrow('has not read its MAC root');
  });

  it('refuses a master key of the wrong length, and one that is given twice', () => {
    expect(() => new MasterKeys([Buffer.alloc(16)])).toThrow('32 bytes');
    expect(() => testMasterKeys(7, 8, 7)).toThrow('twice');
  });
});

describe('a destroyed owner', () => {
  it('opens nothing and can seal nothing, in this process at once', async () => {
    const keyring = testKeyring();
    const sealed = await keyring.seal(owner, secret);
    const kept = await keyring.seal('contact:other', secret);
    const v1 = createV1Key(Buffer.alloc(32, 7)).seal(owner, secret);
    expect(await keyring.open(v1, owner)).toBe(secret);
    await keyring.destroy([owner, 'contact:never-sealed']);
    await keyring.destroy([owner]);
    for (const text of [sealed, v1])
      await expect(keyring.open(text, owner)).rejects.toThrow(KeyDestroyed);
    for (const one of [owner, 'contact:never-sealed'] as const)
      await expect(keyring.seal(one, secret)).rejects.toThrow(KeyDestroyed);
    const texts = [sealed, kept, v1].map((text) => ({ sealed: text, owner }));
    expect(await keyring.openAll([{ sealed: kept, owner: 'contact:other' }])).toEqual([secret]);
    expect(await keyring.openAll(texts)).toEqual([null, null, null]);
  });

  it('is not used by another process after 5 s, and costs it one query every few seconds', async () => {
    const table = memoryDataKeyTable();
    let nowMs = 0;
    let queries = 0;
    const other = createKeyring({
      masterKeys: testMasterKeys(7),
      table: { ...table, read: (owners) => ((queries += 1), table.read(owners)) },
      nowMs: () => nowMs,
    });
    const sealed = await testKeyring(7, table).seal(owner, secret);
    expect(await other.open(sealed, owner)).toBe(secret);
    for (; nowMs < 60_000; nowMs += 10) expect(await other.open(sealed, owner)).toBe(secret);
    expect(queries).toBeLessThanOrEqual(60_000 / 2_500 + 1);

    await testKeyring(7, table).destroy([owner]);
    nowMs += 5_000;
    await expect(other.open(sealed, owner)).rejects.toThrow(KeyDestroyed);
  });

  it('is not kept in use by an answer of before that arrives late', async () => {
    const table = memoryDataKeyTable();
    const sealed = await testKeyring(7, table).seal(owner, secret);
    let nowMs = 0;
    const [wasRead, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let hold = true;
    const other = createKeyring({
      masterKeys: testMasterKeys(7),
      table: {
        ...table,
        read: async (owners) => {
          const read = await table.read(owners);
          wasRead.resolve();
          if (hold) await held.promise;
          return read;
        },
      },
      nowMs: () => nowMs,
    });
    const opening = other.open(sealed, owner);
    await wasRead.promise;
    await testKeyring(7, table).destroy([owner]);
    nowMs = 4_000;
    hold = false;
    held.resolve();
    await opening;
    nowMs = 5_000;
    await expect(other.open(sealed, owner)).rejects.toThrow(KeyDestroyed);
  });
});

describe('while the key table is away', () => {
  it('cached keys open for 5 s, then the caller is told to try again', async () => {
    const table = memoryDataKeyTable();
    let nowMs = 0;
    let isAway = false;
    const keyring = createKeyring({
      masterKeys: testMasterKeys(7),
      table: {
        ...table,
        read: (owners) => (isAway ? Promise.reject(new Error('away')) : table.read(owners)),
      },
      nowMs: () => nowMs,
    });
    const sealed = await keyring.seal(owner, secret);
    isAway = true;
    nowMs = 4_999;
    expect(await keyring.open(sealed, owner)).toBe(secret);
    nowMs = 5_000;
    await expect(keyring.open(sealed, owner)).rejects.toThrow('away');
    isAway = false;
    expect(await keyring.open(sealed, owner)).toBe(secret);
  });
});

describe('texts and MACs of releases without a key table', () => {
  // Written by such a release under the master key of 32 times 07.
  const v1 =
    'v1.z100YJRl.12QsbBTDCfFid5YrlnSYbY8oR0X49WSBZnnvsY6KfTYTwB0paBCJY-uSZv9Cc79JlIS0CSvpSNpcVXOs' +
    '.4s7UtHbdXiozhw0e.J3mv2jc6istMsiKZsUqFoioCs3jFYNqfTOsFEIPmFY8tm9kpXQofrKRDMN3gCia4I0Jc';

  it('open with their master key, the active one or not', async () => {
    for (const fills of [[7], [8, 7]]) {
      const keyring = createKeyring({
        masterKeys: testMasterKeys(...fills),
        table: memoryDataKeyTable(),
      });
      expect(await keyring.open(v1, owner)).toBe(secret);
      await expect(keyring.open(v1, 'contact:another')).rejects.toThrow(CannotOpen);
    }
    await expect(testKeyring(8).open(v1, owner)).rejects.toMatchObject({
      name: 'MasterKeyMissing',
      isUnavailable: true,
      message: expect.stringContaining('z100YJRl') as string,
    });
  });

  it('stay what they were, under the root that the master key gives', () => {
    const masterKeys = testMasterKeys(8, 7);
    const keyring = createKeyring({ masterKeys, table: memoryDataKeyTable() });
    const root = masterKeys.firstMacRootOf('z100YJRl');
    if (root === null) throw new Error('no root');
    keyring.useMacRoot(root);
    expect([keyring.mac('cursor', 'text'), keyring.mac('store-binding', 'a')]).toEqual([
      'b008fc8e8452bfa71d44a888803a1c89a76423a1158262a4889ec877ddca03b5',
      'f042f94e7031996a4bbf0661cf7ceb909b3aeb15ac7754825200872dd243cbe9',
    ]);
  });
});
