/**
 * What a command works on: the same stores as the apps, from the same environment. Beside a running
 * `npm start` the database is found through PIS_DATA_DIR.
 */
import path from 'node:path';
import { operatorContext, osUser } from '@pis/commands';
import type { CommandContext, EventStore } from '@pis/event-store';
import type { StoredKeyring } from '@pis/keyring';
import { connectionOf } from '@pis/local-servers';
import { createPool } from '@pis/postgres';
import {
  bindStore,
  createEventStore,
  createKeyringFrom,
  createLogger,
  hasMasterKey,
  loadConfig,
  type Logger,
  type PlatformConfig,
  platformEnv,
  sealingOnUse,
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
  return {
    config,
    logger: createLogger('cli', process.env['LOG_LEVEL'] ? config.LOG_LEVEL : 'warn'),
  };
}

export function databaseUrlOf(config: PlatformConfig): string {
  const url =
    config.DATABASE_URL ?? connectionOf(path.join(config.PIS_DATA_DIR, 'postgres'), 'pis');
  if (url === null || url === undefined)
    throw new CommandFailed(
      `no database: DATABASE_URL is not set and nothing runs on ${config.PIS_DATA_DIR}`,
    );
  return url;
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
  const pool = createPool(databaseUrl, 'cli', logger);
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
