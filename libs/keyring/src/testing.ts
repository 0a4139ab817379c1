/** A keyring with a master key that only tests know. */
import type pg from 'pg';
import type { DataKeyTable } from './data-key-table.js';
import { createKeyring, type StoredKeyring } from './keyring.js';
import { MasterKeys } from './master-keys.js';
import { memoryDataKeyTable } from './memory-data-key-table.js';
import { pgDataKeyTable } from './pg-data-key-table.js';
import { storeMacRoot } from './mac-root.js';

export { memoryDataKeyTable };
export { createV1Key, type V1Key } from './testing/v1-key.js';
export { hookedPool, type Statement } from './testing/hooked-pool.js';

export function testMasterKeys(...fills: readonly number[]): MasterKeys {
  return new MasterKeys(fills.map((fill) => Buffer.alloc(32, fill)));
}

/** Data keys in memory: only this keyring, or one with the same `table`, opens what it seals. */
export function testKeyring(fill = 7, table: DataKeyTable = memoryDataKeyTable()): StoredKeyring {
  const keyring = createKeyring({ masterKeys: testMasterKeys(fill), table });
  keyring.useMacRoot(Buffer.alloc(32, fill));
  return keyring;
}

/** Data keys in a database. Keyrings on the same database open each other's texts. */
export async function testKeyringOn(pool: pg.Pool, fill = 7): Promise<StoredKeyring> {
  const root = Buffer.alloc(32, fill);
  const keyring = testKeyring(fill, pgDataKeyTable(pool));
  await storeMacRoot(pool, keyring.masterKeys, { root, v1KeyId: null });
  return keyring;
}
