/** Data keys in memory, for tests. */
import {
  type DataKeyTable,
  firstVersion,
  type KeysRead,
  type NewKey,
  type StoredKey,
} from './data-key-table.js';
import type { Owner } from './owner.js';

export function memoryDataKeyTable(): DataKeyTable {
  const rows = new Map<Owner, StoredKey[]>();
  let destructions = 0;
  const read = (owners: readonly Owner[]): KeysRead => ({
    destructions: String(destructions),
    keys: [...new Set(owners)].flatMap((owner) => rows.get(owner) ?? []),
  });
  const create = ({ owner, key }: NewKey) => {
    const known = rows.get(owner) ?? [];
    if (known.some(({ version }) => version >= firstVersion)) return;
    rows.set(owner, [...known, { owner, version: firstVersion, key, v1Digest: null }]);
  };
  return {
    read: async (owners) => read(owners),
    createMissing: async (keys) => {
      keys.forEach(create);
      return read(keys.map(({ owner }) => owner));
    },
    destroy: async (owners) => {
      const isDestroyed = (owner: Owner) =>
        rows.has(owner) && (rows.get(owner) ?? []).every(({ key }) => key === null);
      if (owners.every(isDestroyed)) return;
      destructions += 1;
      for (const owner of owners) {
        const others = (rows.get(owner) ?? []).filter(({ version }) => version !== firstVersion);
        const first = { owner, version: firstVersion, key: null, v1Digest: null };
        rows.set(owner, [first, ...others.map((row) => ({ ...row, key: null }))]);
      }
    },
  };
}
