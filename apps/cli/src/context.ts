/**
 * What a command works on: the same stores as the apps, from the same environment. Beside a running
 * `npm start` the database is found through PIS_DATA_DIR.
 */
import path from 'node:path';
import { operatorContext, osUser } from '@pis/commands';
import type { CommandContext, EventStore, Sealing } from '@pis/event-store';
import type { StoredKeyring } from '@pis/keyring';
import { connectionOf } from '@pis/local-servers';
import { createPool, type PoolOptions, poolSizes } from '@pis/postgres';
import {
  bindStore,
  type BrokerConfig,
  brokerEnv,
  createEventStore,
  createKeyringFrom,
  createLogger,
  findsMasterKey,
  hasMasterKey,
  keyringEnv,
  loadConfig,
  type Logger,
  type PlatformConfig,
  platformEnv,
  type ProcessConfig,
  processEnv,
  sealingOnUse,
  type StorageConfig,
  storageEnv,
} from '@pis/service-kit/stores';
import type pg from 'pg';
import { CommandFailed } from './output.js';

export interface Context {
  readonly config: PlatformConfig;
  readonly databaseUrl: string;
  readonly pool: pg.Pool;
  readonly store: EventStore;
  /** The keyring, once the store is bound to its keys. @throws ConfigurationError */
  readonly keyring: () => Promise<StoredKeyring>;
  readonly logger: Logger;
  /** Who did it, for the metadata of the events. */
  readonly by: CommandContext;
}

/** Logs of a command are its warnings; its result goes to stdout. */
export function readConfig(): { config: PlatformConfig; logger: Logger } {
  const config = loadConfig(platformEnv, process.env);
  return { config, logger: loggerOf(config) };
}

/** For commands that open nothing that is sealed. They need no master key, also in production. */
export function readConfigWithoutKeys(): {
  config: ProcessConfig & StorageConfig & BrokerConfig;
  logger: Logger;
} {
  const config = loadConfig({ ...processEnv, ...storageEnv, ...brokerEnv }, process.env);
  return { config, logger: loggerOf(config) };
}

function loggerOf({ LOG_LEVEL }: ProcessConfig): Logger {
  return createLogger('cli', process.env['LOG_LEVEL'] ? LOG_LEVEL : 'warn');
}

export function databaseUrlOf(
  config: Pick<PlatformConfig, 'DATABASE_URL' | 'DATABASE_DIRECT_URL' | 'PIS_DATA_DIR'>,
): string {
  // The server itself: commands stage rows in temporary tables, which belong to a session.
  const url =
    config.DATABASE_DIRECT_URL ??
    config.DATABASE_URL ??
    connectionOf(path.join(config.PIS_DATA_DIR, 'postgres'), 'pis');
  if (url === null || url === undefined)
    throw new CommandFailed(
      `no database: DATABASE_URL is not set and nothing runs on ${config.PIS_DATA_DIR}`,
    );
  return url;
}

/** A command has one pool. */
export function poolOptionsOf(config: Pick<StorageConfig, 'PIS_DATABASE_POOL'>): PoolOptions {
  return { max: poolSizes(config.PIS_DATABASE_POOL).queries };
}

/**
 * Runs `work` on the stores and closes them, whatever happens.
 * @param options.checkStores default true; false for the command that repairs what the check refuses
 * @throws ConfigurationError when the stores belong to another environment, master key or log
 */
export async function withContext<Result>(
  work: (context: Context) => Promise<Result>,
  { checkStores = true }: { readonly checkStores?: boolean } = {},
): Promise<Result> {
  const { config, logger } = readConfig();
  const databaseUrl = databaseUrlOf(config);
  const pool = createPool(databaseUrl, 'cli', logger, poolOptionsOf(config));
  const open = async (checkOnly: boolean) => {
    const keyring = createKeyringFrom(config, pool);
    await bind(keyring, checkOnly);
    return keyring;
  };
  const sealing = sealingOnUse(() => open(true));
  const store = await createEventStore(config, pool, databaseUrl, sealing);
  const by = operatorContext(osUser());
  const bind = (keyring: StoredKeyring | null, checkOnly: boolean) =>
    bindStore({
      store,
      pool,
      environment: config.PIS_ENVIRONMENT,
      keyring,
      by,
      logger,
      checkOnly,
    });
  try {
    if (checkStores) await (hasMasterKey(config) ? open(true) : bind(null, true));
    return await work({
      config,
      databaseUrl,
      pool,
      store,
      keyring: () => open(false),
      logger,
      by,
    });
  } finally {
    await store.close();
    await pool.end();
  }
}

export interface LogContext {
  readonly config: StorageConfig;
  readonly pool: pg.Pool;
  /** Reads only with `leaveSealed` until something opens what is sealed. */
  readonly store: EventStore;
  readonly openWith: (sealing: Sealing) => void;
}

/**
 * For commands that read the log as it is stored. They need no master key, also in production.
 * @param tables whether the command also reads tables, with either event store
 */
export async function withLog<Result>(
  work: (context: LogContext) => Promise<Result>,
  { tables = false } = {},
): Promise<Result> {
  const { config, logger } = readConfigWithoutKeys();
  const databaseUrl = tables || config.PIS_EVENT_STORE === 'postgres' ? databaseUrlOf(config) : '';
  const pool = createPool(databaseUrl, 'cli', logger, poolOptionsOf(config));
  let opensWith: Sealing | null = null;
  const sealing = sealingOnUse(async () => {
    if (opensWith === null) throw new Error('this command opens no personal data');
    return Promise.resolve(opensWith);
  });
  const store = await createEventStore(config, pool, databaseUrl, sealing);
  try {
    return await work({ config, pool, store, openWith: (given) => (opensWith = given) });
  } finally {
    await store.close();
    await pool.end();
  }
}

/** Whether the environment or the data directory has a master key. */
export function hasKeys(): boolean {
  const { config } = readConfigWithoutKeys();
  return findsMasterKey({ ...config, ...loadConfig(keyringEnv, process.env) });
}
