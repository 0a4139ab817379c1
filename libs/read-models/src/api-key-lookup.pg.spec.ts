import { randomUUID } from 'node:crypto';
import { apiKey } from '@pis/domain';
import { type EventStore, memoryEventStore, repository } from '@pis/event-store';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { findApiKeyDigest } from './api-key-lookup.js';
import { rebuildProjection } from './rebuild.js';

const by = {
  actor: 'user:test',
  requestId: null,
  correlationId: 'c',
  causationId: null,
  traceparent: null,
};

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
let readFrom: string[];
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 4);
  const memory = memoryEventStore();
  readFrom = [];
  store = {
    ...memory,
    readLog: (options) => {
      readFrom.push(options.after);
      return memory.readLog(options);
    },
  };
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

async function createKey(): Promise<{ apiKeyId: string; digest: string }> {
  const [apiKeyId, digest] = [randomUUID(), randomUUID().replaceAll('-', '')];
  const data = {
    ...{ apiKeyId, digest, organizationId: randomUUID(), expiresAt: null },
    ...({ keyType: 'full_access', environment: 'sandbox' } as const),
  };
  const command = { type: 'CreateApiKey', at: new Date().toISOString(), data } as const;
  await repository(store, apiKey).create(digest, command, by);
  return { apiKeyId, digest };
}

it('finds a listed API key without reading the log', async () => {
  const keys = [await createKey(), await createKey()];
  await rebuildProjection('directory', { pool, store });
  readFrom = [];
  for (const { apiKeyId, digest } of keys)
    expect(await findApiKeyDigest(pool, store, apiKeyId)).toBe(digest);
  expect(readFrom).toEqual([]);
});

it('finds an API key that is not listed yet in the new part of the log', async () => {
  await createKey();
  await rebuildProjection('directory', { pool, store });
  const listedTo = await store.lastPosition();
  const { apiKeyId, digest } = await createKey();
  readFrom = [];
  expect(await findApiKeyDigest(pool, store, apiKeyId)).toBe(digest);
  expect(readFrom).toEqual([listedTo]);
});

it('finds an API key that the list has left out, and none that does not exist', async () => {
  const { apiKeyId, digest } = await createKey();
  await rebuildProjection('directory', { pool, store });
  await pool.query('DELETE FROM api_keys');
  expect(await findApiKeyDigest(pool, store, apiKeyId)).toBe(digest);
  expect(await findApiKeyDigest(pool, store, randomUUID())).toBeNull();
});

it('finds the right API key where the list has the digest of another one', async () => {
  const [key, other] = [await createKey(), await createKey()];
  await rebuildProjection('directory', { pool, store });
  await pool.query('UPDATE api_keys SET digest = $2 WHERE api_key_id = $1', [
    key.apiKeyId,
    other.digest,
  ]);
  expect(await findApiKeyDigest(pool, store, key.apiKeyId)).toBe(key.digest);
});
