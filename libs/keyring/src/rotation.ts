/**
 * Rotation of master keys: wraps everything anew under the active one, while the system runs. Killed at any
 * point it leaves every key wrapped under one master key or the other, and the next run goes on. Several
 * runs at once share the work.
 *
 *   1. the replaced master keys are retired: from here on none of them can be active again, so that two
 *      rotations in opposite directions end
 *   2. keys inside old events are imported into the table (v1-import.ts)
 *   3. data keys, in batches. A row that was altered is left and reported
 *   4. the MAC root, last: until then a process without the old master key does not start
 */
import { StoreUnavailable } from '@pis/event-store';
import { inTransaction, pause } from '@pis/postgres';
import type pg from 'pg';
import { orNull } from './cipher.js';
import { purposeOf } from './data-keys.js';
import {
  assertNotRetired,
  lockMacRoot,
  macRootPurpose,
  readMacRoot,
  type StoredMacRoot,
  wrappingKeyIds,
} from './mac-root.js';
import type { MasterKeys, Wrapped } from './master-keys.js';
import type { Owner } from './owner.js';
import { orUnavailable } from './pg-data-key-table.js';
import { countNotImported, type ImportOptions, importV1Keys, mayHaveV1Keys } from './v1-import.js';

/** Rows in a transaction: each takes some milliseconds. */
const batchMax = 500;
/** Another run, or an erasure, holds the last rows. */
const lockedPollMs = 100;
const lockedPollsMax = 300;

export interface RotationProgress {
  readonly phase: 'old events' | 'data keys' | 'MAC root';
  /** Events read, or keys wrapped anew. */
  readonly done: number;
}

export interface RotationReport {
  readonly activeKeyId: string;
  /** Keys inside old events that are now in the table. */
  readonly imported: number;
  /** Sealed texts in old events that nobody can open: they were altered. */
  readonly unreadable: number;
  /** Data keys wrapped anew. */
  readonly rewrapped: number;
  /** Data keys that no master key unwraps: their rows were altered. They stay as they are. */
  readonly unreadableKeys: readonly KeyName[];
}

export interface KeyName {
  readonly owner: Owner;
  readonly version: number;
}

export interface RotationOptions extends ImportOptions {
  /** Keeps releases that put data keys into events from starting again. Called before old events are read. */
  readonly shutOutOlderReleases: () => Promise<void>;
  readonly onProgress?: (progress: RotationProgress) => void;
}

/**
 * @throws StoreUnavailable when the stores are away, or a needed master key is not configured: run it again
 * @throws KeyRetired when the active master key was replaced before
 * @throws CannotOpen when the MAC root was altered
 */
export async function rotateKeys(options: RotationOptions): Promise<RotationReport> {
  const { pool, masterKeys, onProgress = () => undefined } = options;
  let [imported, unreadable] = [0, 0];
  await changeRoot(pool, (stored) => {
    // So that nothing is retired by a rotation that could not end.
    masterKeys.unwrap(stored.key, macRootPurpose);
    return { ...stored, retiredKeyIds: retiredKeyIds(stored, masterKeys) };
  });
  await options.shutOutOlderReleases();
  if (await mayHaveV1Keys(pool))
    ({ imported, unreadable } = await importV1Keys(options, ({ eventsRead: done }) =>
      onProgress({ phase: 'old events', done }),
    ));
  const { rewrapped, unreadableKeys } = await rewrapDataKeys(options, (done) =>
    onProgress({ phase: 'data keys', done }),
  );
  // With it, the store no longer needs the master key of old events: their keys were imported before.
  await changeRoot(pool, (stored) => ({
    key: rewrap(masterKeys, stored.key, macRootPurpose),
    v1KeyId: null,
    retiredKeyIds: retiredKeyIds(stored, masterKeys),
  }));
  onProgress({ phase: 'MAC root', done: 1 });
  await assertNoKeyMissing(options);
  const { activeKeyId } = masterKeys;
  return { activeKeyId, imported, unreadable, rewrapped, unreadableKeys };
}

/** @throws KeyRetired */
function retiredKeyIds(stored: StoredMacRoot, masterKeys: MasterKeys): readonly string[] {
  assertNotRetired(masterKeys, stored);
  const { key, v1KeyId, retiredKeyIds: before } = stored;
  const all = new Set([...before, key.wrappingKeyId, ...(v1KeyId === null ? [] : [v1KeyId])]);
  return [...all].filter((id) => id !== masterKeys.activeKeyId);
}

/** In a transaction that holds the row. */
function changeRoot(
  pool: pg.Pool,
  change: (stored: StoredMacRoot) => StoredMacRoot,
): Promise<void> {
  return orUnavailable(() =>
    inTransaction(pool, async (client) => {
      const { key, v1KeyId, retiredKeyIds: retired } = change(await lockMacRoot(client));
      await client.query(
        `UPDATE keyring_state
         SET mac_root = $1, wrapping_key_id = $2, v1_key_id = $3, retired_key_ids = $4`,
        [key.wrapped, key.wrappingKeyId, v1KeyId, retired],
      );
    }),
  );
}

/** Passes over the data keys, until none is left under an old master key that this process has. */
async function rewrapDataKeys(
  { pool, masterKeys }: RotationOptions,
  onBatch: (done: number) => void,
): Promise<Pick<RotationReport, 'rewrapped' | 'unreadableKeys'>> {
  let rewrapped = 0;
  for (let polls = 0; ; ) {
    const before = rewrapped;
    const unreadableKeys: KeyName[] = [];
    const oldIds = (await wrappingKeyIds(pool)).filter(
      (id) => id !== masterKeys.activeKeyId && masterKeys.ids.includes(id),
    );
    for (const oldId of oldIds)
      for await (const batch of batchesUnder(pool, masterKeys, oldId)) {
        rewrapped += batch.rewrapped;
        unreadableKeys.push(...batch.unreadableKeys);
        onBatch(rewrapped);
      }
    if (!(await hasDataKeys(pool, oldIds, unreadableKeys))) return { rewrapped, unreadableKeys };
    if (rewrapped > before) continue;
    if ((polls += 1) > lockedPollsMax) throw new StoreUnavailable('data keys stay locked');
    await pause(lockedPollMs);
  }
}

interface Row extends KeyName {
  readonly wrapped: string;
}

interface Batch {
  readonly rewrapped: number;
  readonly unreadableKeys: readonly KeyName[];
  /** Null at the end. */
  readonly last: KeyName | null;
}

/** Each batch begins behind the one before: it does not look again at what that one has left behind. */
async function* batchesUnder(pool: pg.Pool, masterKeys: MasterKeys, oldId: string) {
  let last: Pick<Row, 'version'> & { readonly owner: string } = { owner: '', version: 0 };
  for (;;) {
    const batch = await rewrapBatch(pool, masterKeys, { oldId, last });
    yield batch;
    if (batch.last === null) return;
    last = batch.last;
  }
}

function rewrapBatch(
  pool: pg.Pool,
  masterKeys: MasterKeys,
  {
    oldId,
    last,
  }: {
    readonly oldId: string;
    readonly last: { readonly owner: string; readonly version: number };
  },
): Promise<Batch> {
  return orUnavailable(() =>
    inTransaction(pool, async (client) => {
      const stored = await readMacRoot(client);
      if (stored !== null) assertNotRetired(masterKeys, stored);
      const { rows } = await client.query<Row>(
        `SELECT owner, version, wrapped FROM data_keys
         WHERE wrapping_key_id = $1 AND (owner, version) > ($2, $3)
         ORDER BY owner, version LIMIT ${batchMax} FOR UPDATE SKIP LOCKED`,
        [oldId, last.owner, last.version],
      );
      const keys = rows.flatMap(({ owner, version, wrapped }) => {
        const stored = { wrapped, wrappingKeyId: oldId };
        const key = orNull(() => rewrap(masterKeys, stored, purposeOf({ owner, version })));
        return key === null ? [] : [{ owner, version, ...key }];
      });
      await storeKeys(client, keys);
      const readable = new Set(keys.map(({ owner, version }) => purposeOf({ owner, version })));
      return {
        rewrapped: keys.length,
        unreadableKeys: rows
          .map(({ owner, version }) => ({ owner, version }))
          .filter((name) => !readable.has(purposeOf(name))),
        last: rows.at(-1) ?? null,
      };
    }),
  );
}

async function storeKeys(
  client: pg.ClientBase,
  keys: readonly (KeyName & Wrapped)[],
): Promise<void> {
  await client.query(
    `UPDATE data_keys k SET wrapped = given.wrapped, wrapping_key_id = given.wrapping_key_id
     FROM unnest($1::text[], $2::int[], $3::text[], $4::text[])
       AS given (owner, version, wrapped, wrapping_key_id)
     WHERE k.owner = given.owner AND k.version = given.version`,
    [
      keys.map(({ owner }) => owner),
      keys.map(({ version }) => version),
      keys.map(({ wrapped }) => wrapped),
      keys.map(({ wrappingKeyId }) => wrappingKeyId),
    ],
  );
}

function rewrap(masterKeys: MasterKeys, key: Wrapped, purpose: string): Wrapped {
  return masterKeys.wrap(masterKeys.unwrap(key, purpose), purpose);
}

/** Without the ones that cannot be unwrapped: they never go away. */
async function hasDataKeys(
  pool: pg.Pool,
  oldIds: readonly string[],
  except: readonly KeyName[],
): Promise<boolean> {
  const { rows } = await orUnavailable(() =>
    pool.query(
      `SELECT FROM data_keys WHERE wrapping_key_id = ANY($1)
         AND (owner, version) NOT IN (SELECT * FROM unnest($2::text[], $3::int[])) LIMIT 1`,
      [oldIds, except.map(({ owner }) => owner), except.map(({ version }) => version)],
    ),
  );
  return rows.length > 0;
}

/** Last, so that one stray key holds up nothing else. */
async function assertNoKeyMissing({ pool, masterKeys }: RotationOptions): Promise<void> {
  const missing = (await wrappingKeyIds(pool)).filter((id) => !masterKeys.ids.includes(id));
  if (missing.length > 0)
    throw new StoreUnavailable(
      `data keys are wrapped under master keys that this process does not have: ${missing.join(', ')}`,
    );
}

export interface KeysStatus {
  readonly activeKeyId: string;
  readonly keys: readonly {
    readonly keyId: string;
    readonly state: 'active' | 'old';
    /** What still needs it: data keys, the MAC root, and old events whose keys were not imported. */
    readonly dependents: number;
  }[];
}

/**
 * Every master key that this process has or the stores need. Exact at one moment for the database; events
 * are counted after that.
 * @throws StoreUnavailable
 */
export async function keysStatus({ pool, store, masterKeys }: ImportOptions): Promise<KeysStatus> {
  const { activeKeyId } = masterKeys;
  const dependents = new Map(masterKeys.ids.map((id) => [id, 0]));
  const add = (id: string, count: number) => dependents.set(id, (dependents.get(id) ?? 0) + count);
  const { rows } = await orUnavailable(() =>
    pool.query<{ id: string; count: string }>(
      `SELECT wrapping_key_id AS id, count(*) FROM (
         SELECT wrapping_key_id FROM data_keys WHERE wrapping_key_id IS NOT NULL
         UNION ALL SELECT wrapping_key_id FROM keyring_state
       ) wrapped GROUP BY wrapping_key_id`,
    ),
  );
  for (const { id, count } of rows) add(id, Number(count));
  const v1KeyId = (await readMacRoot(pool))?.v1KeyId ?? null;
  if (await mayHaveV1Keys(pool)) {
    const notImported = await countNotImported({ pool, store });
    for (const [id, count] of notImported) add(id, count);
    // No event, and still no process starts without it before the rotation ends.
    if (
      v1KeyId !== null &&
      !notImported.has(v1KeyId) &&
      v1KeyId !== activeKeyId &&
      dependents.get(v1KeyId) === 0
    )
      add(v1KeyId, 1);
  }
  return {
    activeKeyId,
    keys: [...dependents].map(([keyId, count]) => ({
      keyId,
      state: keyId === activeKeyId ? 'active' : 'old',
      dependents: count,
    })),
  };
}
