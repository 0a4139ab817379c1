/**
 * Jobs that one process at a time does, by PostgreSQL's advisory locks. A session holds its lock until it
 * ends, so a process that dies gives its job up. PostgreSQL drops the session of a machine that vanished with its
 * network after 8 seconds.
 */
import type pg from 'pg';
import { sessionsOf } from './pool.js';
import { pause, untilNextMs } from './wake-up.js';
import { type WakeUp, workChannel, type WorkKind } from './wake-ups.js';

/**
 * Of a session that holds a lock, in the place of those of pool.ts. A process that is only busy is not dropped: its
 * kernel answers. With `standbyPollMs` until the next one asks, a job is taken over within 10 seconds.
 */
const lockHolderSettings = [
  'SET tcp_keepalives_idle = 3; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 2;',
  "SET tcp_user_timeout = '8s'",
].join(' ');

/** Names a lock. Every release must use the same keys, because two releases run side by side during a deployment. */
export interface SingletonLock {
  /** The key itself. With a name it is the key of a group of locks. */
  readonly key: number | bigint;
  readonly name?: string;
}

export interface LockWait {
  /** How often it asks without a wake-up. */
  readonly pollMs: number;
  /**
   * Of `locks`: for a job that others wait for day and night. Whoever waits is woken when the lock is released, and asks
   * seldom otherwise. The release of a lock that was taken with it is announced, too.
   */
  readonly wakeUp?: WakeUp | undefined;
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
  lock: SingletonLock,
  wait?: LockWait,
): Promise<boolean> {
  const { text, values } = lockCall('pg_try_advisory_lock', lock);
  const startedMs = performance.now();
  while (wait?.signal?.aborted !== true) {
    const rung = wait?.wakeUp?.bell.rung ?? 0;
    const { rows } = await client.query<{ taken: boolean }>(`SELECT ${text} AS taken`, values);
    if (rows[0]?.taken === true) return true;
    if (wait === undefined) return false;
    wait.onWaiting?.();
    if (performance.now() - startedMs >= (wait.timeoutMs ?? Infinity)) return false;
    await untilNextTry(wait, rung);
  }
  return false;
}

/** All that wait in a process ask at the same time, which wakes its processor once. */
function untilNextTry({ pollMs, wakeUp, signal }: LockWait, rung: number): Promise<void> {
  if (wakeUp === undefined) return pause(pollMs, signal);
  const ending = signal ?? new AbortController().signal;
  return wakeUp.bell.wait(rung, untilNextMs(wakeUp.idleMs()), ending);
}

function lockCall(
  name: 'pg_try_advisory_lock' | 'pg_advisory_unlock',
  lock: SingletonLock,
): { readonly text: string; readonly values: string[] } {
  return lock.name === undefined
    ? { text: `${name}($1)`, values: [String(lock.key)] }
    : { text: `${name}($1, hashtext($2))`, values: [String(lock.key), lock.name] };
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
  const client = await sessionsOf(pool).connect();
  const lost = new AbortController();
  client.on('error', (error) => lost.abort(error));
  let isTaken = false;
  try {
    // Before the lock: whoever holds it can be dropped in time.
    await client.query(lockHolderSettings);
    isTaken = await takeLock(client, lock, wait);
    if (!isTaken) return null;
    const result = await work(client, lost.signal);
    lost.signal.throwIfAborted();
    return result;
  } finally {
    await endSession(client, { isAwaited: isTaken && wait?.wakeUp !== undefined });
  }
}

/**
 * Runs `work` while a session that the caller holds has one more lock. Takes no connection of a pool: work that
 * holds a connection and waits for another one can stop a small pool. The caller notices the loss of the session.
 * @returns what `work` returns, null when the lock was not taken
 */
export async function withLock<Result>(
  client: pg.ClientBase,
  lock: SingletonLock,
  wait: LockWait | undefined,
  work: () => Promise<Result>,
): Promise<Result | null> {
  if (!(await takeLock(client, lock, wait))) return null;
  try {
    return await work();
  } finally {
    const { text, values } = lockCall('pg_advisory_unlock', lock);
    // The end of the session frees the lock anyway.
    await client.query(`SELECT ${text}`, values).catch(() => undefined);
  }
}

const lockKind: WorkKind = 'locks';

/** How long the end of a session may take, for a server that no longer answers. */
const endTimeoutMs = 1_000;

/**
 * Ends the session and frees its locks. Never rejects, and never waits long.
 * @param isAwaited whether processes that wait for one of its locks are woken
 */
export async function endSession(
  client: pg.Client | pg.PoolClient,
  { isAwaited = false }: { readonly isAwaited?: boolean } = {},
): Promise<void> {
  // Release the locks explicitly, because the server may notice the end of the connection later. A lost
  // connection loses its locks anyway. PostgreSQL notifies at the end of the statement, when they are free.
  const release = isAwaited
    ? client.query('SELECT pg_advisory_unlock_all(), pg_notify($1, $2)', [workChannel, lockKind])
    : client.query('SELECT pg_advisory_unlock_all()');
  await inTime(release);
  if ('release' in client) client.release(true);
  else await inTime(client.end());
}

async function inTime(ending: Promise<unknown>): Promise<void> {
  const limit = new AbortController();
  const ended = ending.catch(() => undefined);
  await Promise.race([ended, pause(endTimeoutMs, limit.signal)]);
  limit.abort();
}
