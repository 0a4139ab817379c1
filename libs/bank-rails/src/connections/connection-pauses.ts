/**
 * Whether something new may be sent over a connection: the table rail_connections. Part of what we know of a
 * transfer is in our own tables (`ach_entries`, `iso_transfers`). After the database was restored to an earlier
 * time they lack what was sent since, and it would be sent again. So each connection is bound to the identity of
 * the database. In a database with another identity it is paused, until an operator has compared the payments
 * with the bank's books and resumes it. An operator may pause a connection for any other reason, too. A connection
 * that was paused when the backup was made is paused anew: since the restore, because of it.
 */
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';

export interface ConnectionPause {
  readonly pausedAt: Date;
  readonly reason: string;
  /** The database may lack what was sent over the connection. */
  readonly isRestored: boolean;
}

/** For people, in one sentence. */
export function pauseText(
  connection: string,
  { pausedAt, reason }: Pick<ConnectionPause, 'pausedAt' | 'reason'>,
): string {
  return `nothing new is sent over the connection ${connection} since ${pausedAt.toISOString()}: ${reason}; compare its payments with the bank's books, then run "pis rails resume --connection ${connection}"`;
}

const restoredReason = 'the database was restored, moved or failed over';

interface StateRow {
  readonly connection: string;
  readonly paused_at: Date | null;
  readonly pause_reason: string | null;
  readonly is_restored: boolean;
  readonly is_bound: boolean;
}

/**
 * The pauses of these connections. A connection without a row gets one; one that is bound to another database is
 * paused, and bound to this one.
 * @throws connection errors of PostgreSQL
 */
export async function readPauses(
  pool: pg.Pool,
  connections: readonly string[],
): Promise<ReadonlyMap<string, ConnectionPause>> {
  let rows = await statesOf(pool, connections);
  if (rows.length < connections.length || rows.some((row) => !row.is_bound)) {
    await bind(pool, connections);
    rows = await statesOf(pool, connections);
  }
  const pauses = new Map<string, ConnectionPause>();
  for (const row of rows) {
    const { connection, paused_at: pausedAt, pause_reason: reason, is_restored: isRestored } = row;
    if (pausedAt !== null) pauses.set(connection, { pausedAt, reason: reason ?? '', isRestored });
  }
  return pauses;
}

async function statesOf(pool: pg.Pool, connections: readonly string[]): Promise<StateRow[]> {
  const { rows } = await pool.query<StateRow>({
    name: 'rail-connections-read',
    text: `SELECT connection, paused_at, pause_reason, is_restored,
                  identity = rail_database_identity() AS is_bound
             FROM rail_connections WHERE connection = ANY ($1::text[])`,
    values: [connections],
  });
  return rows;
}

/** A new connection is paused as well while any other one waits for the comparison after a restore. */
async function bind(pool: pg.Pool, connections: readonly string[]): Promise<void> {
  await inTransaction(pool, async (client) => {
    const { rows: lost } = await client.query<{ connection: string }>(
      `UPDATE rail_connections SET is_restored = true, identity = rail_database_identity(),
         paused_at = now(), pause_reason = CASE
           WHEN paused_at IS NULL THEN $1
           WHEN pause_reason IS NULL THEN $1
           WHEN starts_with(pause_reason, $1) THEN pause_reason
           ELSE $1 || '; before that it was paused since '
             || to_char(paused_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
             || ': ' || pause_reason END
        WHERE identity <> rail_database_identity() RETURNING connection`,
      [restoredReason],
    );
    // Inquiries go on.
    for (const { connection } of lost) await moveMessageNumbers(client, connection, inquiriesAhead);
    await client.query(
      `INSERT INTO rail_connections (connection, identity, is_restored, paused_at, pause_reason)
       SELECT c.name, rail_database_identity(), r.is_any,
              CASE WHEN r.is_any THEN now() END, CASE WHEN r.is_any THEN $2 END
         FROM unnest($1::text[]) AS c (name),
              (SELECT EXISTS (SELECT FROM rail_connections WHERE is_restored) AS is_any) AS r
        ORDER BY c.name
       ON CONFLICT (connection) DO NOTHING`,
      [connections, restoredReason],
    );
  });
}

/**
 * SQL: the connections over which nothing new may be sent, also those that no executor has looked at since a restore. The
 * first time in a session, the identity takes 0.1 ms, so it is asked for once and not for each row.
 */
export const pausedSql = `SELECT connection FROM rail_connections
   WHERE paused_at IS NOT NULL OR identity <> (SELECT rail_database_identity())`;

/** SQL: whether nothing new may be sent over the connection that the expression names. */
export function isPausedSql(connection: string): string {
  return `${connection} IN (${pausedSql})`;
}

/** SQL: the connections of which what was sent may be unknown here, because the database was restored or failed over. */
export const restoredSql = `SELECT connection FROM rail_connections
   WHERE (is_restored AND paused_at IS NOT NULL) OR identity <> (SELECT rail_database_identity())`;

export async function isPaused(pool: pg.Pool, connection: string): Promise<boolean> {
  const { rows } = await pool.query<{ is_paused: boolean }>(
    `SELECT ${isPausedSql('$1')} AS is_paused`,
    [connection],
  );
  return rows[0]?.is_paused === true;
}

/** How many connections are paused, also those that no executor has looked at since a restore. */
export async function pausedConnections(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ paused: number }>(
    `SELECT count(*)::int AS paused FROM (${pausedSql}) AS c`,
  );
  return rows[0]?.paused ?? 0;
}

/**
 * When the database was restored or failed over, while a connection waits to be compared with its bank; null when none does.
 * What was created before then may have been submitted, although nothing here says so. @throws connection errors of PostgreSQL
 */
export async function restoredAt(pool: pg.Pool): Promise<Date | null> {
  const { rows } = await pool.query<{ at: Date | null }>({
    name: 'rail-restored-at',
    text: `SELECT max(CASE WHEN is_bound THEN paused_at ELSE now() END) AS at
             FROM (SELECT paused_at, identity = (SELECT rail_database_identity()) AS is_bound
                     FROM rail_connections WHERE connection IN (${restoredSql})) AS c`,
  });
  return rows[0]?.at ?? null;
}

export interface PausedByHand {
  /** Null for every connection that was ever used. */
  readonly connection: string | null;
  readonly reason: string;
  /** The database was restored: numbers move ahead when the connection is resumed. */
  readonly isRestored: boolean;
}

/**
 * A name that is not among those that were ever used is taken for a slip. While none was, any name is taken: the
 * executors have not started yet. A pause after a restore counts from now on: an earlier one may be of the backup.
 * @returns the names of the connections that are paused now; none when there is none of this name
 */
export async function pauseConnections(
  pool: pg.Pool,
  { connection, reason, isRestored }: PausedByHand,
): Promise<readonly string[]> {
  // The reason that is given now replaces that of a restore which nobody has noticed yet.
  await bind(pool, []);
  const { rows } = await pool.query<{ connection: string }>(
    `WITH named AS (
       SELECT $1::text AS connection
        WHERE $1 IS NOT NULL AND ($1 IN (SELECT connection FROM rail_connections)
                                  OR NOT EXISTS (SELECT FROM rail_connections))
        UNION SELECT connection FROM rail_connections WHERE $1 IS NULL ORDER BY 1)
     INSERT INTO rail_connections AS c (connection, identity, paused_at, pause_reason, is_restored)
     SELECT connection, rail_database_identity(), now(), $2, $3 FROM named
     ON CONFLICT (connection) DO UPDATE SET
       paused_at = CASE WHEN excluded.is_restored THEN excluded.paused_at
                        ELSE coalesce(c.paused_at, excluded.paused_at) END,
       pause_reason = excluded.pause_reason,
       is_restored = c.is_restored OR excluded.is_restored
     RETURNING connection`,
    [connection, reason, isRestored],
  );
  return rows.map((row) => row.connection).sort();
}

/** Far more than are used between two backups. */
const numbersAhead = { traces: 1_000_000, files: 100_000, messages: 100_000 } as const;
/** At the beginning of a pause, so that inquiries during it repeat no number of a replica's lag. A rail has 999,999 a day. */
const inquiriesAhead = 10_000;
const traceSequenceMax = 9_999_999;
/** Messages are numbered by the day on which they settle. */
const numberedDays = 7;

/**
 * Lets new transfers go over the connection, also those that wait: whoever calls this has voided the entries of ended
 * payments. After a restore its numbers move ahead, so that none is used twice, and accounts are checked again.
 * @returns false when it was not paused
 */
export function resumeConnection(pool: pg.Pool, connection: string): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ is_paused: boolean; is_restored: boolean }>(
      `SELECT ${isPausedSql('r.connection')} AS is_paused,
              r.is_restored OR r.identity <> rail_database_identity() AS is_restored
         FROM rail_connections r WHERE r.connection = $1 FOR UPDATE`,
      [connection],
    );
    const [row] = rows;
    if (row?.is_paused !== true) return false;
    if (row.is_restored) {
      await moveNumbersAhead(client, connection);
      await forgetPrenotes(client, connection);
      await tryNotificationsAgain(client, connection);
    }
    await client.query(
      `UPDATE rail_connections SET paused_at = NULL, pause_reason = NULL, is_restored = false,
         identity = rail_database_identity() WHERE connection = $1`,
      [connection],
    );
    await lookAgain(client, connection);
    return true;
  });
}

/** A restored database may not have a row yet where the lost one had: rows are added. */
async function moveNumbersAhead(client: pg.ClientBase, connection: string): Promise<void> {
  await client.query(
    `INSERT INTO ach_banks AS b (bank, last_trace, last_file) VALUES ($1, $2, $4)
     ON CONFLICT (bank) DO UPDATE SET
       last_trace = (b.last_trace + excluded.last_trace) % $3,
       last_file = b.last_file + excluded.last_file`,
    [connection, numbersAhead.traces, traceSequenceMax, numbersAhead.files],
  );
  await moveMessageNumbers(client, connection, numbersAhead.messages);
}

async function moveMessageNumbers(
  client: pg.ClientBase,
  connection: string,
  by: number,
): Promise<void> {
  await client.query(
    `INSERT INTO iso_message_numbers AS n (connection, day, last)
     SELECT $1, current_date + day, $2 FROM generate_series(-1, $3::integer) AS day
     ON CONFLICT ON CONSTRAINT iso_message_numbers_pkey DO UPDATE SET last = n.last + excluded.last`,
    [connection, by, numberedDays],
  );
}

/** The bank may have returned them since the backup. Payments that wait for one are looked at, and send another. */
async function forgetPrenotes(client: pg.ClientBase, connection: string): Promise<void> {
  await client.query(
    "UPDATE ach_prenotes SET state = 'dropped' WHERE bank = $1 AND state = 'open'",
    [connection],
  );
  await client.query(
    // In the order in which executors lock them.
    `UPDATE rail_pending SET deadline_at = least(deadline_at, now())
      WHERE payment_id = ANY (ARRAY(
        SELECT p.payment_id FROM ach_prenote_waits w JOIN rail_pending p USING (reference)
         WHERE w.bank = $1 AND p.stage = 'queued'
         ORDER BY p.payment_id FOR UPDATE OF p))`,
    [connection],
  );
}

/** They may wait for payments that are claimed only now, and are tried by themselves for three days. */
async function tryNotificationsAgain(client: pg.ClientBase, connection: string): Promise<void> {
  await client.query(
    // In the order in which executors lock them.
    `UPDATE rail_notified_references SET since = now(), due_at = now()
      WHERE feed = $1 AND reference = ANY (ARRAY(
        SELECT reference FROM rail_notified_references
         WHERE feed = $1 AND tries > 0 ORDER BY reference FOR UPDATE))`,
    [connection],
  );
}

/** While the connection was paused, its payments were tried ever less often. */
async function lookAgain(client: pg.ClientBase, connection: string): Promise<void> {
  await client.query(
    // In the order in which executors lock them.
    `UPDATE rail_pending SET deadline_at = now()
      WHERE payment_id = ANY (ARRAY(
        SELECT payment_id FROM rail_pending
         WHERE connection = $1 AND stage = 'queued' AND deadline_at > now() AND attempts > 0
         ORDER BY payment_id FOR UPDATE))`,
    [connection],
  );
}

export interface ConnectionState {
  readonly connection: string;
  readonly pausedAt: string | null;
  readonly reason: string | null;
  /** Payments that have not ended, by the stage of their row in rail_pending. */
  readonly payments: Readonly<Record<string, number>>;
  /** ACH entries that are in no file. */
  readonly waitingEntries: number;
}

/** Every connection that was ever used, and what is under way over it. */
export async function connectionStates(pool: pg.Pool): Promise<readonly ConnectionState[]> {
  const { rows: named } = await pool.query<{ connection: string }>(
    'SELECT connection FROM rail_connections ORDER BY connection',
  );
  const pauses = await readPauses(
    pool,
    named.map(({ connection }) => connection),
  );
  const { rows: stages } = await pool.query<{ connection: string; stage: string; n: number }>(
    'SELECT connection, stage, count(*)::int AS n FROM rail_pending GROUP BY connection, stage',
  );
  const { rows: waiting } = await pool.query<{ bank: string; n: number }>(
    "SELECT bank, count(*)::int AS n FROM ach_entries WHERE status = 'waiting' GROUP BY bank",
  );
  return named.map(({ connection }) => {
    const pause = pauses.get(connection);
    const own = stages.filter((row) => row.connection === connection);
    return {
      connection,
      pausedAt: pause?.pausedAt.toISOString() ?? null,
      reason: pause?.reason ?? null,
      payments: Object.fromEntries(own.map(({ stage, n }) => [stage, n])),
      waitingEntries: waiting.find(({ bank }) => bank === connection)?.n ?? 0,
    };
  });
}
