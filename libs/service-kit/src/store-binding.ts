/**
 * Binds a store to its environment and its MAC root at its first use, and refuses every process that comes
 * with another environment, or without the master key of the MAC root.
 *
 * The binding is the stream `store-binding` of the log, below the namespace if there is one. It is appended
 * at "no stream": if two processes start first, one wins, and the other one is compared with it. A restored
 * log contains its binding. The database keeps the ID of its log, so that deliveries, deadlines and
 * checkpoints of one log are never used with another log or an emptied one.
 */
import { randomUUID } from 'node:crypto';
import {
  type Environment,
  storeBinding,
  type StoreBindingRefusal,
  type StoreBindingState,
  unreachable,
} from '@pis/domain';
import { beginning, type CommandContext, type EventStore, repository } from '@pis/event-store';
import type { StoredKeyring } from '@pis/keyring';
import { orUnavailable } from '@pis/read-models';
import type pg from 'pg';
import { ConfigurationError } from './config.js';
import type { Logger } from './logging.js';
import { checkValue, openKeyring, otherMasterKey, v1KeyIdOf } from './keyring-check.js';

export interface BindingOptions {
  readonly store: EventStore;
  readonly pool: Pick<pg.Pool, 'query'>;
  readonly environment: Environment;
  /** Null for an operator's command that needs no master key and has none. */
  readonly keyring: StoredKeyring | null;
  readonly by: CommandContext;
  readonly logger: Pick<Logger, 'error'>;
  /** If true, does not bind an unbound store. Default: false. */
  readonly checkOnly?: boolean;
}

/**
 * Checks the stores of this process. Without `checkOnly`, also opens them for use.
 * @throws as bindStore
 */
export type StoreCheck = (options?: Pick<BindingOptions, 'checkOnly'>) => Promise<void>;

const bindingId = 'binding';
/** Enough events to find the first API key in a log of an older release. */
const firstRecordsMax = 100;

/**
 * @throws ConfigurationError when the store belongs to another environment, master key or database
 * @throws StoreUnavailable the result is unknown: try again
 */
export async function bindStore(options: BindingOptions): Promise<void> {
  const { store, environment, by, checkOnly = false } = options;
  const bindings = repository(store, storeBinding);
  const storeOfDatabase = await databaseBinding(options);
  const { state: found } = await bindings.load(bindingId);
  const idFound = found?.storeId ?? null;
  // First, so that nothing is written into a log that this database does not belong to.
  if (storeOfDatabase !== null && storeOfDatabase !== idFound)
    throw otherLog(storeOfDatabase, idFound);
  if (found === null) {
    await assertFitsFirstRecords(options);
    if (checkOnly) return;
  }
  const at = new Date().toISOString();
  const data = { storeId: idFound ?? randomUUID(), environment };
  const bound = await bindings.execute(bindingId, { type: 'BindStore', at, data }, by);
  if ('refused' in bound) throw refusal(bound.refused, options);
  const { state } = bound;
  if (state === null) throw new Error('a store that was bound has a binding');
  await bindMasterKey(options, state);
  const belongsTo =
    storeOfDatabase ?? (checkOnly ? state.storeId : await bindDatabase(options, state.storeId));
  if (belongsTo !== state.storeId) throw otherLog(belongsTo, state.storeId);
}

/** The binding in the log. Null if it is not bound yet. @throws StoreUnavailable */
export async function bindingOf(store: EventStore): Promise<StoreBindingState> {
  return (await repository(store, storeBinding).load(bindingId)).state;
}

/** False if the database belongs to another store than this one. @throws StoreUnavailable */
export async function isStoreOfDatabase({
  store,
  pool,
}: Pick<BindingOptions, 'store' | 'pool'>): Promise<boolean> {
  return isStore(store, await databaseBinding({ pool }));
}

/**
 * False if a database that belongs to the store of this ID belongs to another one than this.
 * @throws StoreUnavailable
 */
export async function isStore(store: EventStore, storeOfDatabase: string | null): Promise<boolean> {
  const binding = await bindingOf(store);
  return storeOfDatabase === null || storeOfDatabase === binding?.storeId;
}

async function bindMasterKey(
  options: BindingOptions,
  bound: NonNullable<StoreBindingState>,
): Promise<void> {
  const { store, pool, keyring, by, logger, checkOnly = false } = options;
  if (keyring === null) return;
  const isOpen = await openKeyring({ store, pool, keyring, bound, logger, checkOnly });
  if (!isOpen || (checkOnly && Object.keys(bound.masterKeys).length === 0)) return;
  const bindings = repository(store, storeBinding);
  const data = {
    keyId: keyring.activeKeyId,
    check: checkValue(keyring, bound.storeId),
  };
  const at = new Date().toISOString();
  const result = await bindings.execute(bindingId, { type: 'BindMasterKey', at, data }, by);
  if ('refused' in result) throw refusal(result.refused, options);
}

/**
 * Keeps releases that put data keys into events away from the store: they refuse to start with it.
 * @throws StoreUnavailable the result is unknown: try again
 */
export async function shutOutOlderReleases(store: EventStore, by: CommandContext): Promise<void> {
  const command = { type: 'MoveDataKeys', at: new Date().toISOString(), data: {} } as const;
  const result = await repository(store, storeBinding).execute(bindingId, command, by);
  if ('refused' in result) throw new Error(`data keys were not moved: ${result.refused}`);
}

/**
 * Binds the database to the log that it is used with now, whatever its former binding. For an operator who
 * keeps a database after its log was lost. Returns both IDs.
 */
export async function rebindDatabase({
  store,
  pool,
}: Pick<BindingOptions, 'store' | 'pool'>): Promise<{
  readonly storeId: string | null;
  readonly previousStoreId: string | null;
}> {
  const previousStoreId = await databaseBinding({ pool });
  const { state } = await repository(store, storeBinding).load(bindingId);
  await orUnavailable(() => pool.query('DELETE FROM store_binding'));
  if (state !== null) await bindDatabase({ pool }, state.storeId);
  return { storeId: state?.storeId ?? null, previousStoreId };
}

async function databaseBinding({ pool }: Pick<BindingOptions, 'pool'>): Promise<string | null> {
  const { rows } = await orUnavailable(() =>
    pool.query<{ store_id: string }>('SELECT store_id FROM store_binding'),
  );
  return rows[0]?.store_id ?? null;
}

/** Of several concurrent bindings the first one wins, and all callers get it. */
async function bindDatabase(
  { pool }: Pick<BindingOptions, 'pool'>,
  storeId: string,
): Promise<string> {
  await orUnavailable(() =>
    pool.query(
      `INSERT INTO store_binding (store_id, bound_at) VALUES ($1, now())
       ON CONFLICT ON CONSTRAINT store_binding_pkey DO NOTHING`,
      [storeId],
    ),
  );
  return (await databaseBinding({ pool })) ?? storeId;
}

/** A log from before bindings existed is bound only if its first records fit this process. */
async function assertFitsFirstRecords(options: BindingOptions): Promise<void> {
  const { store, environment, keyring } = options;
  const { events } = await store.readLog({
    after: beginning,
    streamPrefixes: ['apiKey-'],
    pageMax: firstRecordsMax,
  });
  for (const { type, data } of events)
    if (type === 'ApiKeyCreated' && data['environment'] !== environment)
      throw refusal('OTHER_ENVIRONMENT', options);
  const v1KeyId = keyring === null ? null : await v1KeyIdOf(store);
  if (keyring !== null && v1KeyId !== null && !keyring.masterKeys.ids.includes(v1KeyId))
    throw otherMasterKey(keyring.masterKeys, [v1KeyId]);
}

function refusal(
  refused: StoreBindingRefusal,
  { environment }: BindingOptions,
): ConfigurationError {
  switch (refused) {
    case 'OTHER_ENVIRONMENT':
      return new ConfigurationError([
        `PIS_ENVIRONMENT: this process is ${environment}, but the event store belongs to ` +
          `${environment === 'sandbox' ? 'production' : 'the sandbox'}. Check EVENTSTOREDB_URL and DATABASE_URL.`,
      ]);
    case 'OTHER_MAC_ROOT':
      return new ConfigurationError([
        'DATABASE_URL: this database does not hold the keys of the event store: its MAC root is another one. ' +
          'Check EVENTSTOREDB_URL, EVENTSTOREDB_NAMESPACE and DATABASE_URL.',
      ]);
    case 'NOT_BOUND':
      throw new Error('a store that was bound has a binding');
    default:
      return unreachable(refused);
  }
}

function otherLog(database: string, log: string | null): ConfigurationError {
  const used = log === null ? 'the one in use is empty' : `the one in use is ${log}`;
  return new ConfigurationError([
    `DATABASE_URL: this database belongs to the event store ${database}, but ${used}. ` +
      'Check EVENTSTOREDB_URL, EVENTSTOREDB_NAMESPACE and DATABASE_URL. If the event store was lost for good, see ' +
      'docs/operations.md, "What a store belongs to".',
  ]);
}
