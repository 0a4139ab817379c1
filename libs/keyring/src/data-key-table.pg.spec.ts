/** Both tables of data keys, and what only PostgreSQL's can show: several sessions at once. */
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import type { DataKeyTable, NewKey } from './data-key-table.js';
import type { Owner } from './owner.js';
import { pgDataKeyTable } from './pg-data-key-table.js';
import { memoryDataKeyTable, testKeyringOn } from './testing.js';

let database: TestDatabase;
let pool: pg.Pool;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 10);
  await testKeyringOn(pool);
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const keyOf = (owner: Owner, wrapped = 'w'): NewKey => ({
  owner,
  key: { wrapped, wrappingKeyId: 'k' },
});
const one: Owner = 'contact:1';
const two: Owner = 'contact:2';

describe.each<[string, () => DataKeyTable]>([
  ['PostgreSQL', () => pgDataKeyTable(pool)],
  ['memory', memoryDataKeyTable],
])('a table of data keys in %s', (_name, open) => {
  it('creates a key once, and reads it with those of others', async () => {
    const table = open();
    expect((await table.read([one, two])).keys).toEqual([]);
    const row = { version: 1, v1Digest: null, key: { wrapped: 'w', wrappingKeyId: 'k' } };
    expect((await table.createMissing([keyOf(one)])).keys).toEqual([{ owner: one, ...row }]);
    const again = await table.createMissing([keyOf(one, 'other'), keyOf(two)]);
    const both = [
      { owner: one, ...row },
      { owner: two, ...row },
    ];
    expect(new Set(again.keys)).toEqual(new Set(both));
    expect(new Set((await table.read([one, two, one])).keys)).toEqual(new Set(both));
  });

  it('destroys for good, and counts it', async () => {
    const table = open();
    const { destructions } = await table.createMissing([keyOf(one)]);
    expect((await table.read([])).destructions).toBe(destructions);
    await table.destroy([one, two, one]);
    await table.destroy([one]);
    const expected = [one, two].map((owner) => ({ owner, version: 1, v1Digest: null, key: null }));
    const { destructions: since, keys } = await table.createMissing([keyOf(one), keyOf(two)]);
    expect(new Set(keys)).toEqual(new Set(expected));
    expect(since).not.toBe(destructions);
  });

  it('does not count a destruction that changes nothing: no process needs to drop its cached keys', async () => {
    const table = open();
    await table.createMissing([keyOf(one)]);
    await table.destroy([one, two]);
    const { destructions } = await table.read([]);
    await table.destroy([two, one]);
    expect((await table.read([])).destructions).toBe(destructions);
    await table.destroy([two, 'contact:3']);
    expect((await table.read([])).destructions).not.toBe(destructions);
  });
});

describe('several processes on one table', () => {
  it('get the same key when they seal for an owner at the same moment', async () => {
    const keyrings = await Promise.all(Array.from({ length: 6 }, () => testKeyringOn(pool)));
    for (const round of Array.from({ length: 10 }, (_, n) => n)) {
      const owner: Owner = `contact:race-${round}`;
      const sealed = await Promise.all(keyrings.map((keyring) => keyring.seal(owner, 'text')));
      const opened = keyrings.flatMap((keyring) => sealed.map((text) => keyring.open(text, owner)));
      expect(new Set(await Promise.all(opened))).toEqual(new Set(['text']));
    }
  });

  it('never keep a key of an owner that is destroyed while others seal for it', async () => {
    const keyrings = await Promise.all(Array.from({ length: 4 }, () => testKeyringOn(pool)));
    for (const round of Array.from({ length: 20 }, (_, n) => n)) {
      const owner: Owner = `contact:race-${round}`;
      const sealing = keyrings.map((keyring) => keyring.seal(owner, 'text').catch(() => null));
      await Promise.all([...sealing, keyrings[round % 4]?.destroy([owner])]);
      const fresh = await testKeyringOn(pool);
      await expect(fresh.seal(owner, 'text')).rejects.toThrow('were destroyed');
    }
    const { rows } = await pool.query('SELECT 1 FROM data_keys WHERE wrapped IS NOT NULL');
    expect(rows).toEqual([]);
  });

  it('are told to try again while the database is away', async () => {
    const keyring = await testKeyringOn(pool);
    const away = openTestPool('postgres://nobody@127.0.0.1:1/none', 1);
    const lost = pgDataKeyTable(away);
    for (const refused of [lost.read([one]), lost.createMissing([keyOf(one)]), lost.destroy([one])])
      await expect(refused).rejects.toMatchObject({ name: 'StoreUnavailable' });
    await away.end();
    expect(await keyring.open(await keyring.seal(one, 'text'), one)).toBe('text');
  });
});

it('keeps no copy of a destroyed key in statistics, and has its dead row vacuumed soon', async () => {
  const table = pgDataKeyTable(pool);
  const owners = Array.from({ length: 300 }, (_, n): Owner => `contact:${n}`);
  await table.createMissing(owners.map((owner) => keyOf(owner, `wrapped-key-of-${owner}`)));
  await pool.query('ANALYZE data_keys, keyring_state');
  await table.destroy(owners);
  const { rows: samples } = await pool.query(
    `SELECT attname FROM pg_stats WHERE (tablename, attname) IN (VALUES
       ('data_keys'::name, 'wrapped'::name), ('keyring_state', 'mac_root'))`,
  );
  expect(samples).toEqual([]);
  const { rows: options } = await pool.query<{ option: string }>(
    "SELECT unnest(reloptions) AS option FROM pg_class WHERE oid = 'data_keys'::regclass",
  );
  expect(options.map(({ option }) => option).sort()).toEqual([
    'autovacuum_vacuum_scale_factor=0',
    'autovacuum_vacuum_threshold=0',
  ]);
});
