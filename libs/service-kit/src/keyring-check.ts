/**
 * Gives a keyring the MAC root of its store, and refuses a process that lacks the master key of the root or of
 * old events.
 *
 * A new store draws its root at random. A store of an older release has none: there every MAC was derived
 * from the master key, and its root holds the keys that give the same MACs.
 */
import { randomBytes } from 'node:crypto';
import type { StoreBindingState } from '@pis/domain';
import { beginning, type EventStore } from '@pis/event-store';
import {
  assertNotRetired,
  keyBytes,
  KeyRetired,
  macRootPurpose,
  macUnder,
  readMacRoot,
  type StoredKeyring,
  type StoredMacRoot,
  storeMacRoot,
  wrappingKeyIds,
} from '@pis/keyring';
import type pg from 'pg';
import { ConfigurationError } from './config.js';
import type { Logger } from './logging.js';

export interface KeyringCheck {
  readonly store: EventStore;
  readonly pool: Pick<pg.Pool, 'query'>;
  readonly keyring: StoredKeyring;
  readonly bound: NonNullable<StoreBindingState>;
  readonly logger: Pick<Logger, 'error'>;
  /** Stores no root. */
  readonly checkOnly: boolean;
}

/** The value of the store binding that tells whether a root is the store's. */
export function checkValue(keyring: Pick<StoredKeyring, 'mac'>, storeId: string): string {
  return keyring.mac(checkPurpose, storeId);
}
const checkPurpose = 'store-binding';

/**
 * @returns false when the store has no root yet and this only looks
 * @throws ConfigurationError when a master key is missing, or the root was lost
 * @throws StoreUnavailable
 */
export async function openKeyring(check: KeyringCheck): Promise<boolean> {
  const { pool, keyring, checkOnly } = check;
  const { masterKeys } = keyring;
  let stored = await readMacRoot(pool);
  if (stored === null) {
    const first = await firstRootOf(check);
    if (checkOnly) return false;
    stored = await storeMacRoot(pool, masterKeys, first);
  }
  await assertNoKeyMissing(check, stored);
  assertKeyNotRetired(masterKeys, stored);
  keyring.useMacRoot(masterKeys.unwrap(stored.key, macRootPurpose));
  return true;
}

/** The ID of the master key that wraps the data key of the first originator, if it lies in the event. */
export async function v1KeyIdOf(store: EventStore): Promise<string | null> {
  for (let after = beginning; ; ) {
    const page = await store.readLog({
      after,
      streamPrefixes: ['originator-'],
      pageMax: 1,
      leaveSealed: true,
    });
    const [first] = page.events;
    if (first !== undefined) {
      const { dataKey } = first.data;
      return typeof dataKey === 'string' ? (dataKey.split('.')[0] ?? null) : null;
    }
    if (page.position === after) return null;
    after = page.position;
  }
}

export function otherMasterKey(
  { ids }: StoredKeyring['masterKeys'],
  needed: readonly string[],
): ConfigurationError {
  return new ConfigurationError([
    `PIS_MASTER_KEY: this process has the master key ${ids.join(', ')}, but the stores also need ` +
      `${needed.join(', ')}. Nothing that is sealed under it could be opened.`,
  ]);
}

async function firstRootOf({
  store,
  keyring: { masterKeys },
  bound,
}: KeyringCheck): Promise<{ readonly root: Buffer; readonly v1KeyId: string | null }> {
  const { storeId, masterKeys: boundKeys } = bound;
  const checks = Object.values(boundKeys);
  for (const keyId of checks.length === 0 ? [] : masterKeys.ids) {
    const root = masterKeys.firstMacRootOf(keyId);
    if (root !== null && checks.includes(macUnder(root, checkPurpose, storeId)))
      return { root, v1KeyId: keyId };
  }
  if (checks.length > 0) {
    const isKnown = Object.keys(boundKeys).some((keyId) => masterKeys.ids.includes(keyId));
    if (!isKnown) throw otherMasterKey(masterKeys, Object.keys(boundKeys));
    throw new ConfigurationError([
      'DATABASE_URL: this database does not hold the keys of the event store. Restore the tables ' +
        'keyring_state and data_keys from a backup; see docs/operations.md, "Keys".',
    ]);
  }
  const v1KeyId = await v1KeyIdOf(store);
  if (v1KeyId === null) return { root: randomBytes(keyBytes), v1KeyId };
  const root = masterKeys.firstMacRootOf(v1KeyId);
  if (root === null) throw otherMasterKey(masterKeys, [v1KeyId]);
  return { root, v1KeyId };
}

/** Its new data keys would be under a key that was given up. */
function assertKeyNotRetired(masterKeys: StoredKeyring['masterKeys'], stored: StoredMacRoot): void {
  try {
    assertNotRetired(masterKeys, stored);
  } catch (error) {
    if (error instanceof KeyRetired)
      throw new ConfigurationError([`PIS_MASTER_KEY: ${error.message}`]);
    throw error;
  }
}

/** A data key that cannot be unwrapped stops only what is sealed under it: one stray key stops no start. */
async function assertNoKeyMissing(
  { pool, keyring: { masterKeys }, logger }: KeyringCheck,
  { key, v1KeyId }: StoredMacRoot,
): Promise<void> {
  const isMissing = (keyId: string) => !masterKeys.ids.includes(keyId);
  const needed = [key.wrappingKeyId, ...(v1KeyId === null ? [] : [v1KeyId])];
  if (needed.some(isMissing))
    throw otherMasterKey(masterKeys, [...new Set(needed.filter(isMissing))]);
  const masterKeyIds = (await wrappingKeyIds(pool)).filter(isMissing);
  if (masterKeyIds.length > 0)
    logger.error(
      { masterKeyIds },
      'this process does not have these master keys: what is sealed under their data keys cannot be opened',
    );
}
