/**
 * What a command works on: the same stores as the apps, from the same environment. Beside a running
 * `npm start` the database is found through PIS_DATA_DIR.
 */
import path from 'node:path';
import type { CommandContext, EventStore } from '@pis/event-store';
import type { Keyring } from '@pis/keyring';
import { connectionOf } from '@pis/local-servers';
import {
  createEventStore,
  createKeyringFrom,
  createLogger,
  createPool,
  loadConfig,
  type Logger,
  operatorContext,
  osUser,
  type PlatformConfig,
  platformEnv,
} from '@pis/service-kit';
import type pg from 'pg';
import { CommandFailed } from './output.js';

export interface Context {
  readonly config: PlatformConfig;
  readonly databaseUrl: string;
  readonly pool: pg.Pool;
  readonly store: EventStore;
  readonly keyring: () => Keyring;
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

/** Runs `work` on the stores and closes them, whatever happens. */
export async function withContext<Result>(
  work: (context: Context) => Promise<Result>,
): Promise<Result> {
  const { config, logger } = readConfig();
  const databaseUrl = databaseUrlOf(config);
  const pool = createPool(databaseUrl, 'cli', logger);
  const store = createEventStore(config, pool, databaseUrl);
  try {
    return await work({
      config,
      databaseUrl,
      pool,
      store,
      keyring: () => createKeyringFrom(config),
      logger,
      by: operatorContext(osUser()),
    });
  } finally {
    await store.close();
    await pool.end();
  }
}
