/**
 * Rotation of master keys: wraps everything anew under the active one, while the system runs. Killed at any
 * point it leaves every key wrapped under one master key or the other, and the next run goes on. Several
 * runs at once share the work.
 *
 *   1. keys inside old events are imported into the table (v1-import.ts)
 *   2. data keys, in batches
 *   3. the MAC root, last: until then a process without the old master key does not start
 */
import { StoreUnavailable } from '@pis/event-store';
import { inTransaction, pause } from '@pis/postgres';
import type pg from 'pg';
import { purposeOf } from './data-keys.js';
import { macRootPurpose, readMacRoot, wrappingKeyIds } from './mac-root.js';
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
}

export interface RotationOptions extends ImportOptions {
  /** Keeps releases that put data keys into events from starting again. Called before old events are read. */
  readonly shutOutOlderReleases: () => Promise<void>;
  readonly onProgress?: (progress: RotationProgress) => void;
}

/**
 * @throws StoreUnavailable when the stores are away, or a needed master key is not configured: run it again
 * @throws CannotOpen when a row was altered
 */
export async function rotateKeys(options: RotationOptions): Promise<RotationReport> {
  const { pool, masterKeys, onProgress = () => undefined } = options;
  let [imported, unreadable] = [0, 0];
  await options.shutOutOlderReleases();
  if (await mayHaveV1Keys(pool))
    ({ imported, unreadable } = await importV1Keys(options, ({ eventsRead: done }) =>
      onProgress({ phase: 'old events', done }),
    ));
  const rewrapped = await rewrapDataKeys(options, (done) =>
    onProgress({ phase: 'data keys', done }),
  );
  await rewrapMacRoot(options);
  onProgress({ phase: 'MAC root', done: 1 });
  return { activeKeyId: masterKeys.activeKeyId, imported, unreadable, rewrapped };
}

async function rewrapDataKeys(
  { pool, masterKeys }: RotationOptions,
  onBatch: (done: number) => void,
): Promise<number> {
  let done = 0;
  for (let polls = 0; ; ) {
    const ids = await wrappingKeyIds(pool);
    const oldIds = ids.filter((id) => id !== masterKeys.activeKeyId);
    if (oldIds.length === 0) return done;
    const rewrapped = await rewrapBatch(pool, masterKeys, oldIds);
    done += rewrapped;
    if (rewrapped > 0) {
      onBatch(done);
      continue;
    }
    if (!(await hasDataKeys(pool, oldIds))) return done;
    if ((polls += 1) > lockedPollsMax) throw new StoreUnavailable('data keys stay locked');
    await pause(lockedPollMs);
  }
}

interface Row {
  readonly owner: Owner;
  readonly version: number;
  readonly wrapped: string;
  readonly wrapping_key_id: string;
}

function rewrapBatch(
  pool: pg.Pool,
  masterKeys: MasterKeys,
  oldIds: readonly string[],
): Promise<number> {
  return orUnavailable(() =>
    inTransaction(pool, async (client) => {
      const { rows } = await client.query<Row>(
        `SELECT owner, version, wrapped, wrapping_key_id FROM data_keys
         WHERE wrapping_key_id = ANY($1) LIMIT ${batchMax} FOR UPDATE SKIP LOCKED`,
        [oldIds],
      );
      const keys = rows.map((row) => rewrap(masterKeys, keyOf(row), purposeOf(row)));
      await client.query(
        `UPDATE data_keys k SET wrapped = given.wrapped, wrapping_key_id = given.wrapping_key_id
         FROM unnest($1::text[], $2::int[], $3::text[], $4::text[])
           AS given (owner, version, wrapped, wrapping_key_id)
         WHERE k.owner = given.owner AND k.version = given.version`,
        [
          rows.map(({ owner }) => owner),
          rows.map(({ version }) => version),
          keys.map(({ wrapped }) => wrapped),
          keys.map(({ wrappingKeyId }) => wrappingKeyId),
        ],
      );
      return rows.length;
    }),
  );
}

function keyOf({
  wrapped,
  wrapping_key_id: wrappingKeyId,
}: Omit<Row, 'owner' | 'version'>): Wrapped {
  return { wrapped, wrappingKeyId };
}

function rewrap(masterKeys: MasterKeys, key: Wrapped, purpose: string): Wrapped {
  return masterKeys.wrap(masterKeys.unwrap(key, purpose), purpose);
}

async function hasDataKeys(pool: pg.Pool, oldIds: readonly string[]): Promise<boolean> {
  const { rows } = await orUnavailable(() =>
    pool.query('SELECT FROM data_keys WHERE wrapping_key_id = ANY($1) LIMIT 1', [oldIds]),
  );
  return rows.length > 0;
}

/** With it, the store no longer needs the master key of old events: their keys were imported before. */
function rewrapMacRoot({ pool, masterKeys }: RotationOptions): Promise<void> {
  return orUnavailable(() =>
    inTransaction(pool, async (client) => {
      const { rows } = await client.query<{ mac_root: string; wrapping_key_id: string }>(
        'SELECT mac_root, wrapping_key_id FROM keyring_state FOR UPDATE',
      );
      const [row] = rows;
      if (row === undefined) throw new StoreUnavailable('the table keyring_state is empty');
      const stored = keyOf({ wrapped: row.mac_root, wrapping_key_id: row.wrapping_key_id });
      const { wrapped, wrappingKeyId } = rewrap(masterKeys, stored, macRootPurpose);
      await client.query(
        'UPDATE keyring_state SET mac_root = $1, wrapping_key_id = $2, v1_key_id = NULL',
        [wrapped, wrappingKeyId],
      );
    }),
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
