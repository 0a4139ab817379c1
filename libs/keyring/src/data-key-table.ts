/** Where data keys are kept: the port, with an adapter for PostgreSQL and one in memory for tests. */
import type { Owner } from './owner.js';
import type { Wrapped } from './master-keys.js';

/** The version that `create` writes. Imported keys have versions from 0 downwards. */
export const firstVersion = 1;

export interface StoredKey {
  readonly owner: Owner;
  readonly version: number;
  /** Null when it was destroyed. */
  readonly key: Wrapped | null;
  /** Of an imported key: the digest of what lies in the texts of version 1; see v1-texts.ts. */
  readonly v1Digest: string | null;
}

export interface NewKey {
  readonly owner: Owner;
  readonly key: Wrapped;
}

export interface KeysRead {
  /**
   * Changes with each destruction of keys that were still there. Read in the same snapshot as the keys. Cached keys are good as long as
   * it stays the same.
   */
  readonly destructions: string;
  readonly keys: readonly StoredKey[];
}

/** Every method @throws StoreUnavailable */
export interface DataKeyTable {
  /** All versions of these owners' keys. Without owners, only `destructions`. */
  read(owners: readonly Owner[]): Promise<KeysRead>;
  /**
   * Creates the first version for owners that have no row of it, not even a destroyed one, and reads as
   * `read` does. An owner whose key another writer creates at the same moment may be missing in the
   * answer: read again.
   */
  createMissing(keys: readonly NewKey[]): Promise<KeysRead>;
  /** Destroys all versions, and keeps a row of the first version so that nobody can create it again. */
  destroy(owners: readonly Owner[]): Promise<void>;
}
