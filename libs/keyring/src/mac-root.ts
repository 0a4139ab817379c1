/**
 * The MAC root at rest: one row of the table `keyring_state`, wrapped under a master key. It never changes:
 * identities of contacts, cursors and the check value of the store binding are derived from it.
 */
import { StoreUnavailable } from '@pis/event-store';
import type pg from 'pg';
import type { MasterKeys, Wrapped } from './master-keys.js';
import { orUnavailable } from './pg-data-key-table.js';

/** What a wrapped MAC root is bound to: it unwraps as nothing else. */
export const macRootPurpose = 'mac-root';

export interface StoredMacRoot {
  readonly key: Wrapped;
  /**
   * The master key that texts of version 1 in the event store may still need, until they are imported.
   * Null in a store that never had such texts.
   */
  readonly v1KeyId: string | null;
  /** Master keys that a rotation replaces or has replaced. */
  readonly retiredKeyIds: readonly string[];
}

interface Row {
  readonly mac_root: string;
  readonly wrapping_key_id: string;
  readonly v1_key_id: string | null;
  readonly retired_key_ids: readonly string[];
}

/** The active master key was replaced by a rotation. It must not wrap anything again. */
export class KeyRetired extends Error {
  override readonly name = 'KeyRetired';
  constructor(keyId: string) {
    super(
      `the first master key, ${keyId}, was replaced by a rotation: put the key that replaced it, or a new one, first`,
    );
  }
}

/** @throws KeyRetired */
export function assertNotRetired(
  { activeKeyId }: MasterKeys,
  { retiredKeyIds }: Pick<StoredMacRoot, 'retiredKeyIds'>,
): void {
  if (retiredKeyIds.includes(activeKeyId)) throw new KeyRetired(activeKeyId);
}

/** Null in a new database. @throws StoreUnavailable */
export function readMacRoot(pool: Pick<pg.Pool, 'query'>): Promise<StoredMacRoot | null> {
  return readRow(pool, '');
}

/** Holds the row until the end of the transaction. @throws StoreUnavailable */
export async function lockMacRoot(client: pg.ClientBase): Promise<StoredMacRoot> {
  const stored = await readRow(client, 'FOR UPDATE');
  if (stored === null) throw new StoreUnavailable('the table keyring_state is empty');
  return stored;
}

async function readRow(
  pool: Pick<pg.ClientBase, 'query'>,
  lock: '' | 'FOR UPDATE',
): Promise<StoredMacRoot | null> {
  const { rows } = await orUnavailable(() =>
    pool.query<Row>(
      `SELECT mac_root, wrapping_key_id, v1_key_id, retired_key_ids FROM keyring_state ${lock}`,
    ),
  );
  const [row] = rows;
  if (row === undefined) return null;
  return {
    key: { wrapped: row.mac_root, wrappingKeyId: row.wrapping_key_id },
    v1KeyId: row.v1_key_id,
    retiredKeyIds: row.retired_key_ids,
  };
}

/** Of several processes that start at once, the first one wins. @returns the root of the winner */
export async function storeMacRoot(
  pool: Pick<pg.Pool, 'query'>,
  masterKeys: MasterKeys,
  { root, v1KeyId }: { readonly root: Buffer; readonly v1KeyId: string | null },
): Promise<StoredMacRoot> {
  const { wrapped, wrappingKeyId } = masterKeys.wrap(root, macRootPurpose);
  await orUnavailable(() =>
    pool.query(
      `INSERT INTO keyring_state (mac_root, wrapping_key_id, v1_key_id) VALUES ($1, $2, $3)
       ON CONFLICT ON CONSTRAINT keyring_state_pkey DO NOTHING`,
      [wrapped, wrappingKeyId, v1KeyId],
    ),
  );
  const stored = await readMacRoot(pool);
  if (stored === null) throw new Error('the MAC root was stored and is not there');
  return stored;
}

/**
 * The master keys that wrap something in the database. Jumps from key to key in the index: the table may
 * have millions of rows.
 * @throws StoreUnavailable
 */
export async function wrappingKeyIds(pool: Pick<pg.Pool, 'query'>): Promise<readonly string[]> {
  const { rows } = await orUnavailable(() =>
    pool.query<{ id: string }>(
      `WITH RECURSIVE ids (id) AS (
         (SELECT min(wrapping_key_id) FROM data_keys)
         UNION
         SELECT (SELECT min(wrapping_key_id) FROM data_keys WHERE wrapping_key_id > ids.id)
         FROM ids WHERE ids.id IS NOT NULL
       )
       SELECT id FROM ids WHERE id IS NOT NULL
       UNION SELECT wrapping_key_id FROM keyring_state`,
    ),
  );
  return rows.map(({ id }) => id);
}
