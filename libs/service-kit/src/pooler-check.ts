/**
 * What a process needs of a pooler in front of PostgreSQL, checked before the process uses the database: the direct
 * address leads to the same database, and statements have a time limit.
 */
import { randomUUID } from 'node:crypto';
import { asSingleton, createPool, sessionsOf } from '@pis/postgres';
import type pg from 'pg';
import { ConfigurationError } from './config.js';
import type { StorageConfig } from './environment.js';
import type { Logger } from './logging.js';

export interface PoolerCheck {
  readonly config: Pick<StorageConfig, 'DATABASE_DIRECT_URL'>;
  /** The pooler, if there is a direct address. */
  readonly databaseUrl: string;
  readonly app: string;
  readonly logger: Pick<Logger, 'warn' | 'debug'>;
}

/** Of the locks that are only taken to see where they are. */
const lockKey = 491_730_541;

/**
 * Does nothing without DATABASE_DIRECT_URL. Warns when the sessions of the pooler have no statement_timeout.
 * @throws ConfigurationError when the two addresses lead to different databases. Locks would exclude nobody, and
 * migrations would change the wrong one
 * @throws what the pool throws when one of them cannot be reached: try again
 */
export async function checkPooler(check: PoolerCheck): Promise<void> {
  const { databaseUrl, app, logger } = check;
  const { DATABASE_DIRECT_URL: directUrl } = check.config;
  if (directUrl === undefined) return;
  const pool = createPool(databaseUrl, app, logger, { max: 1, directUrl });
  try {
    if (!(await isOneDatabase(pool)))
      throw new ConfigurationError([
        'DATABASE_DIRECT_URL: this address leads to another database than DATABASE_URL',
      ]);
    const { rows } = await pool.query<{ limit: string }>(
      `SELECT current_setting('statement_timeout') AS limit`,
    );
    if (rows[0]?.limit === '0')
      logger.warn(
        'statement_timeout is 0 behind the pooler of DATABASE_URL: statements have no time limit at the server. ' +
          'Set it for the user at the server: ALTER ROLE … SET statement_timeout',
      );
  } finally {
    await pool.end();
  }
}

/**
 * Whether a lock of the direct address is seen through the pooler. That needs no privileges, and also tells a server
 * from its replica or its copy.
 */
async function isOneDatabase(pool: pg.Pool): Promise<boolean> {
  const lock = { key: lockKey, name: randomUUID() };
  const isSeen = await asSingleton(sessionsOf(pool), lock, undefined, async (session) => {
    const { rows: backend } = await session.query<{ pid: number }>(
      'SELECT pg_backend_pid() AS pid',
    );
    const { rows } = await pool.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM pg_locks JOIN pg_database AS d ON d.oid = database
        WHERE locktype = 'advisory' AND d.datname = current_database() AND granted AND pid = $1
          AND classid = $2 AND objid = (hashtext($3)::bigint & 4294967295)::oid`,
      [backend[0]?.pid, lock.key, lock.name],
    );
    return rows[0]?.count === 1;
  });
  if (isSeen === null) throw new Error(`another session has the lock ${lock.name}`);
  return isSeen;
}
