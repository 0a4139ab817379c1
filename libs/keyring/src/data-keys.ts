/**
 * The data keys that a process uses, cached. What always holds: a key that was destroyed is used for at
 * most `keyAgeMaxMs` more, in every process. A cached key costs no query.
 *
 * The cache is asked as a whole whether it is still good: each destruction changes one number in the
 * database, and any change empties the cache. Asking for the number is one small query every few seconds,
 * and none in an idle process. The other way, an age for each key, would read all keys in use again every
 * few seconds.
 */
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { GroupCommit, isDataError } from '@pis/postgres';
import { LRUCache } from 'lru-cache';
import { CannotOpen, keyBytes, KeyDestroyed } from './cipher.js';
import type { DataKeyTable, KeysRead, NewKey, StoredKey } from './data-key-table.js';
import { firstVersion } from './data-key-table.js';
import type { MasterKeys } from './master-keys.js';
import type { Owner } from './owner.js';

/** Owners whose keys are in memory. */
const ownersMax = 10_000;
/** Owners in one query. */
const batchMax = 2_000;
/** From this age on the cache is asked for in the background. */
const refreshAfterMs = 2_500;
/** From this age on nothing cached is used before the answer. So no process uses a destroyed key for longer. */
export const keyAgeMaxMs = 5_000;

export interface DataKeysOptions {
  /** A steady clock. */
  readonly nowMs?: (() => number) | undefined;
  /** Some key was destroyed, here or elsewhere: what was opened with any may have to go. */
  readonly onClear?: () => void;
}

export interface CurrentKey {
  readonly version: number;
  readonly key: KeyObject;
}

export class DataKeys {
  private readonly cache = new LRUCache<Owner, KeysOfOwner>({ max: ownersMax });
  private readonly reads: GroupCommit<Owner, KeysOfOwner>;
  private readonly creations: GroupCommit<Owner, KeysOfOwner>;
  /** What the cache is good for. */
  private known = { destructions: '', askedAtMs: -Infinity };
  private checking: Promise<void> | null = null;
  private readonly nowMs: () => number;
  private readonly onClear: () => void;

  constructor(
    private readonly table: DataKeyTable,
    private readonly masterKeys: MasterKeys,
    { nowMs = () => performance.now(), onClear = () => undefined }: DataKeysOptions = {},
  ) {
    this.nowMs = nowMs;
    this.onClear = onClear;
    const limits = { batchMax, isItemsFault: isDataError };
    this.reads = new GroupCommit({ ...limits, write: (owners) => this.read(owners) });
    this.creations = new GroupCommit({ ...limits, write: (owners) => this.create(owners) });
  }

  /** Created when the owner has none. @throws KeyDestroyed, CannotOpen, StoreUnavailable */
  async current(owner: Owner): Promise<CurrentKey> {
    let keys = this.usable(owner) ?? (await this.cached(owner));
    // Creating reads as well: an owner that is not cached costs one query.
    if (keys === null || keys.currentVersion === null) keys = await this.creations.add(owner);
    // Another process created it at the same moment.
    if (keys.currentVersion === null) keys = await this.reads.add(owner);
    const version = keys.currentVersion ?? firstVersion;
    return { version, key: keys.withVersion(version) ?? missing(owner, version) };
  }

  /** @throws KeyDestroyed, CannotOpen, StoreUnavailable */
  async withVersion(owner: Owner, version: number): Promise<KeyObject> {
    const key =
      (this.usable(owner) ?? (await this.of(owner))).withVersion(version) ??
      // Another process may have created it since the others were read.
      (await this.reads.add(owner)).withVersion(version);
    return key ?? missing(owner, version);
  }

  /** An imported key; null when it was not imported. @throws as withVersion */
  async imported(owner: Owner, v1Digest: string): Promise<KeyObject | null> {
    return (await this.of(owner)).imported(v1Digest);
  }

  /** As `imported`, past the cache. */
  async importedNow(owner: Owner, v1Digest: string): Promise<KeyObject | null> {
    return (await this.reads.add(owner)).imported(v1Digest);
  }

  /** @throws StoreUnavailable */
  async isDestroyed(owner: Owner): Promise<boolean> {
    return (await this.of(owner)).isDestroyed;
  }

  async destroy(owners: readonly Owner[]): Promise<void> {
    if (owners.length === 0) return;
    await this.table.destroy(owners);
    this.clear();
  }

  private async of(owner: Owner): Promise<KeysOfOwner> {
    return (await this.cached(owner)) ?? this.reads.add(owner);
  }

  /** Without a promise, as most callers find it; null when something must be waited for. */
  private usable(owner: Owner): KeysOfOwner | null {
    if (!this.cache.has(owner) || this.refreshing() !== null) return null;
    return this.cache.get(owner) ?? null;
  }

  /** Null when it is not there, or no longer good. */
  private async cached(owner: Owner): Promise<KeysOfOwner | null> {
    if (!this.cache.has(owner)) return null;
    const refreshing = this.refreshing();
    if (refreshing !== null) await refreshing;
    return this.cache.get(owner) ?? null;
  }

  /** Null while the cache may be used. */
  private refreshing(): Promise<void> | null {
    const ageMs = this.nowMs() - this.known.askedAtMs;
    if (ageMs < refreshAfterMs) return null;
    this.checking ??= this.check().finally(() => (this.checking = null));
    if (ageMs >= keyAgeMaxMs) return this.checking;
    // Who needs the answer asks again, and hears of the failure.
    this.checking.catch(() => undefined);
    return null;
  }

  private clear(): void {
    this.cache.clear();
    this.onClear();
  }

  private async check(): Promise<void> {
    const askedAtMs = this.nowMs();
    this.note(await this.table.read([]), askedAtMs);
  }

  private async read(owners: readonly Owner[]): Promise<KeysOfOwner[]> {
    const askedAtMs = this.nowMs();
    return this.answers(owners, await this.table.read([...new Set(owners)]), askedAtMs);
  }

  private async create(owners: readonly Owner[]): Promise<KeysOfOwner[]> {
    const askedAtMs = this.nowMs();
    const given = [...new Set(owners)].sort().map((owner): NewKey => {
      const purpose = purposeOf({ owner, version: firstVersion });
      return { owner, key: this.masterKeys.wrap(randomBytes(keyBytes), purpose) };
    });
    return this.answers(owners, await this.table.createMissing(given), askedAtMs);
  }

  private answers(owners: readonly Owner[], read: KeysRead, askedAtMs: number): KeysOfOwner[] {
    this.note(read, askedAtMs);
    const rows = Map.groupBy(read.keys, ({ owner }) => owner);
    return owners.map((owner) => {
      // Also without any row: texts of version 1 need none.
      const keys = new KeysOfOwner(owner, rows.get(owner) ?? [], this.masterKeys);
      this.cache.set(owner, keys);
      return keys;
    });
  }

  /** An answer of before may arrive late: then the cache is as old as that answer. */
  private note({ destructions }: KeysRead, askedAtMs: number): void {
    const isSame = destructions === this.known.destructions;
    if (!isSame) this.clear();
    const latestMs = isSame ? Math.max(askedAtMs, this.known.askedAtMs) : askedAtMs;
    this.known = { destructions, askedAtMs: latestMs };
  }
}

/** All versions of one owner's keys. A key is unwrapped at its first use. */
class KeysOfOwner {
  readonly currentVersion: number | null;
  readonly isDestroyed: boolean;
  private readonly unwrapped = new Map<number, KeyObject>();

  constructor(
    private readonly owner: Owner,
    private readonly rows: readonly StoredKey[],
    private readonly masterKeys: MasterKeys,
  ) {
    const current = Math.max(...rows.map(({ version }) => version));
    this.currentVersion = current >= firstVersion ? current : null;
    this.isDestroyed = rows.some(({ key }) => key === null);
  }

  withVersion(version: number): KeyObject | null {
    return this.unwrap(this.rows.find((row) => row.version === version));
  }

  imported(v1Digest: string): KeyObject | null {
    return this.unwrap(this.rows.find((row) => row.v1Digest === v1Digest));
  }

  /** @throws KeyDestroyed, CannotOpen, StoreUnavailable */
  private unwrap(row: StoredKey | undefined): KeyObject | null {
    if (this.isDestroyed) throw new KeyDestroyed(this.owner);
    if (row === undefined || row.key === null) return null;
    const known = this.unwrapped.get(row.version);
    if (known !== undefined) return known;
    const key = createSecretKey(this.masterKeys.unwrap(row.key, purposeOf(row)));
    this.unwrapped.set(row.version, key);
    return key;
  }
}

/** What a wrapped data key is bound to: a row that was moved to another owner does not unwrap. */
export function purposeOf({ owner, version }: Pick<StoredKey, 'owner' | 'version'>): string {
  return `data-key/${version}/${owner}`;
}

function missing(owner: Owner, version: number): never {
  throw new CannotOpen(`the table data_keys has no key ${version} of ${owner}`);
}
