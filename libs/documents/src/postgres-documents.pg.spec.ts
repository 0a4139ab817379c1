/** Documents in a real PostgreSQL. */
import { randomBytes } from 'node:crypto';
import type { Keyring } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { chunkBytes, DocumentAltered } from './document-store.js';
import { postgresDocuments } from './postgres-documents.js';
import { itStoresDocuments } from './testing/document-store-conformance.js';

let database: TestDatabase;
let pool: pg.Pool;
let keyring: Keyring;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 5);
  keyring = await testKeyringOn(pool);
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

itStoresDocuments(() => ({
  keyring,
  storeWith: (given) => postgresDocuments(pool, given),
  stored: async () => {
    const { rows: chunks } = await pool.query<{ sealed: Buffer }>(
      'SELECT sealed FROM document_chunks ORDER BY write_id, index',
    );
    const { rows: writes } = await pool.query('SELECT FROM document_writes WHERE NOT is_whole');
    return { bytes: Buffer.concat(chunks.map(({ sealed }) => sealed)), unfinished: writes.length };
  },
}));

it('does not open a document whose chunks were swapped or removed', async () => {
  const store = postgresDocuments(pool, keyring);
  const owner = 'originator:1';
  const readAll = async () => {
    for await (const bytes of store.read('a', owner)) expect(bytes.length).toBeGreaterThan(0);
  };
  async function* bytes() {
    yield randomBytes(3 * chunkBytes);
  }
  await store.write('a', owner, bytes());
  await pool.query('UPDATE document_chunks SET index = 10 - index');
  await pool.query('UPDATE document_chunks SET index = index - 8');
  await expect(readAll()).rejects.toMatchObject({ name: 'CannotOpen' });
  await pool.query('DELETE FROM document_chunks WHERE index = 2');
  await expect(readAll()).rejects.toThrow(DocumentAltered);
});

it('lets a later write win over one that is still under way', async () => {
  const store = postgresDocuments(pool, keyring);
  async function* later() {
    yield Buffer.from('later');
  }
  async function* earlier() {
    yield randomBytes(2 * chunkBytes);
    await store.write('a', 'originator:1', later());
    yield Buffer.from('earlier');
  }
  await expect(store.write('a', 'originator:1', earlier())).rejects.toThrow();
  const parts: Uint8Array[] = [];
  for await (const part of store.read('a', 'originator:1')) parts.push(part);
  expect(Buffer.concat(parts).toString()).toBe('later');
});
