/**
 * Jobs that one process at a time does, by PostgreSQL's advisory locks. A session holds its lock until it
 * ends, so a process that dies gives its job up: PostgreSQL drops dead peers within 30 seconds (pool.ts).
 */
import type pg from 'pg';
import { pause } from './wake-up.js';

/** Names a lock. Every release must use the same keys, because two releases run side by side during a deployment. */
export interface SingletonLock {
  /** The key itself. With a name it is the key of a group of locks. */
  readonly key: number | bigint;
  readonly name?: string;
}

export interface LockWait {
  readonly pollMs: number;
  /** Gives up when aborted. */
  readonly signal?: AbortSignal;
  /** Gives up after this. Without it, waits for as long as it takes. */
  readonly timeoutMs?: number;
  /** Called each time that another session has the lock. */
  readonly onWaiting?: () => void;
}

/**
 * Takes the lock for the session of `client`, at once or, given `wait`, when it is free. Polls: a session
 * that waits inside pg_advisory_lock() holds a snapshot, on which CREATE INDEX CONCURRENTLY would wait.
 * @returns false if another session has it
 */
export async function takeLock(
  client: pg.ClientBase,
  { key, name }: SingletonLock,
  wait?: LockWait,
): Promise<boolean> {
  const text =
    name === undefined
      ? 'SELECT pg_try_advisory_lock($1) AS taken'
      : 'SELECT pg_try_advisory_lock($1, hashtext($2)) AS taken';
  const values = name === undefined ? [String(key)] : [String(key), name];
  const startedMs = performance.now();
  while (wait?.signal?.aborted !== true) {
    const { rows } = await client.query<{ taken: boolean }>(text, values);
    if (rows[0]?.taken === true) return true;
    if (wait === undefined) return false;
    wait.onWaiting?.();
    if (performance.now() - startedMs >= (wait.timeoutMs ?? Infinity)) return false;
    await pause(wait.pollMs, wait.signal);
  }
  return false;
}

/**
 * Runs `work` while a connection of the pool holds the lock. `lost` is aborted when that connection breaks:
 * another process may have the lock from then on.
 * @returns what `work` returns, null when the lock was not taken
 * @throws the loss of the connection, also when `work` has returned because of it
 */
export async function asSingleton<Result>(
  pool: pg.Pool,
  lock: SingletonLock,
  wait: LockWait | undefined,
  work: (client: pg.ClientBase, lost: AbortSignal) => Promise<Result>,
): Promise<Result | null> {
  const client = await pool.connect();
  const lost = new AbortController();
  client.on('error', (error) => lost.abort(error));
  try {
    if (!(await takeLock(client, lock, wait))) return null;
    const result = await work(client, lost.signal);
    lost.signal.throwIfAborted();
    return result;
  } finally {
    await endSession(client);
  }
}

/** How long the end of a session may take, for a server that no longer answers. */
const endTimeoutMs = 1_000;

/** Ends the session and frees its locks. Never rejects, and never waits long. */
export async function endSession(client: pg.Client | pg.PoolClient): Promise<void> {
  // Release the locks explicitly, because the server may notice the end of the connection later. A lost
  // connection loses its locks anyway.
  await inTime(client.query('SELECT pg_advisory_unlock_all()'));
  if ('release' in client) client.release(true);
  else await inTime(client.end());
}

async function inTime(ending: Promise<unknown>): Promise<void> {
  const limit = new AbortController();
  const ended = ending.catch(() => undefined);
  await Promise.race([ended, pause(endTimeoutMs, limit.signal)]);
  limit.abort();
}
