/**
 * The rows of rail_pending, and the statements of PendingTransfers that are more than a line or two. A plan that was
 * made while the table was empty is kept, so rows are found by their ids (ANY) and not by a join.
 */
import { pausedSql, recordsSql } from '@pis/bank-rails/connections';
import { ofAnyLength } from '@pis/postgres';
import type pg from 'pg';

/** See the migration `rail_submissions`. */
export type Stage = 'queued' | 'claimed' | 'submitted' | 'in_flight';

export interface PendingTransfer {
  readonly paymentId: string;
  readonly reference: string;
  readonly connection: string;
  readonly stage: Stage;
  readonly isSealed: boolean;
  readonly hasDeadline: boolean;
  /** Since a submission was last noted, milliseconds; null without one. */
  readonly notedMsAgo: number | null;
}

/** A row is leased to one executor for this time. After a crash it is due again when the lease ends. */
export const leaseMs = 30_000;

export type DueColumn = 'deadline_at' | 'overdue_at';

export const columns = `p.payment_id, p.reference, p.connection, p.stage, p.sealed_at IS NOT NULL AS is_sealed,
  p.overdue_at IS NOT NULL AS has_deadline,
  (extract(epoch FROM now() - p.last_submission_at) * 1000)::float8 AS noted_ms_ago`;

export interface Row {
  readonly payment_id: string;
  readonly reference: string;
  readonly connection: string;
  readonly stage: Stage;
  readonly is_sealed: boolean;
  readonly has_deadline: boolean;
  readonly noted_ms_ago: number | null;
}

export const pendingTransfer = (row: Row): PendingTransfer => ({
  paymentId: row.payment_id,
  reference: row.reference,
  connection: row.connection,
  stage: row.stage,
  isSealed: row.is_sealed,
  hasDeadline: row.has_deadline,
  notedMsAgo: row.noted_ms_ago,
});

/** ANY would take the SELECT alone for a list of rows. */
const givenPayments = `${ofAnyLength('$1::uuid[]')}::uuid[]`;

/** The number for the payment of the row. `$1` has the ids of the payments, in the same order. */
const ofPayment = (numbers: string) =>
  `(${numbers}::float8[])[array_position($1::uuid[], p.payment_id)]`;

/**
 * The pause of a row that is there already doubles with each try. It is computed in milliseconds: an interval of days
 * overflows when it is doubled often. In the same order as the notes.
 */
export const waitSql = `
  INSERT INTO rail_pending AS p (payment_id, reference, rail, stage, submitted_at, deadline_at,
    attempts, failures, connection)
  SELECT t.payment_id, t.reference, t.rail, 'queued', now(),
         now() + t.initial_ms * interval '1 millisecond', 1, t.failures, t.connection
    FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::int[], $6::float8[])
           AS t (payment_id, reference, rail, connection, failures, initial_ms)
   ORDER BY t.payment_id
  ON CONFLICT (payment_id) DO UPDATE SET
    connection = CASE p.connection WHEN '' THEN excluded.connection ELSE p.connection END,
    deadline_at = now() + least(
      ${ofPayment('$7')},
      ${ofPayment('$6')} * power(2, least(p.attempts, 30))
    ) * interval '1 millisecond',
    attempts = p.attempts + 1, failures = p.failures + excluded.failures
  RETURNING payment_id, failures`;

/**
 * Rows in one order, so that two executors that note the same payments cannot deadlock. What may have been sent
 * over one connection is never sent over another one. Its row shows that, or a connection's records: a restored log may
 * lack a payment that has ended, and its client may repeat it over another rail. Nothing is noted for a connection that is
 * paused, or that the database does not know yet for restored or failed over: the first statement there shows it. Nor for
 * one without a row: the executor has seen its row, and a replica may lack it.
 */
export const noteSql = `
  WITH paused AS MATERIALIZED (
    ${pausedSql}
    UNION ALL SELECT given.name COLLATE "C" FROM unnest($7::text[]) AS given (name)
     WHERE given.name NOT IN (SELECT connection FROM rail_connections)
  ), elsewhere AS MATERIALIZED (
    SELECT t.payment_id, min(r.connection) AS connection
      FROM unnest(${ofAnyLength('$1::uuid[]')}, $2::text[], $7::text[]) AS t (payment_id, reference, connection)
     CROSS JOIN LATERAL (${recordsSql('t.reference')}) AS r
     GROUP BY t.payment_id HAVING bool_and(r.connection <> t.connection)
  ), noted AS (
  INSERT INTO rail_pending AS p (payment_id, reference, rail, stage, submitted_at,
    last_submission_at, submissions, overdue_at, deadline_at, connection)
  SELECT t.payment_id, t.reference, t.rail, 'claimed', now(), greatest(now(), $5), 1,
         now() + t.overdue_in_ms * interval '1 millisecond', now() + $6 * interval '1 millisecond',
         t.connection
    FROM unnest(${ofAnyLength('$1::uuid[]')}, $2::text[], $3::text[], $4::float8[], $7::text[])
           AS t (payment_id, reference, rail, overdue_in_ms, connection)
   WHERE t.connection <> ALL (ARRAY(SELECT connection FROM paused))
     AND t.payment_id <> ALL (ARRAY(SELECT payment_id FROM elsewhere))
   ORDER BY t.payment_id
  ON CONFLICT (payment_id) DO UPDATE SET
    stage = 'claimed', reference = excluded.reference, rail = excluded.rail,
    connection = excluded.connection,
    last_submission_at = greatest(p.last_submission_at, excluded.last_submission_at),
    submissions = p.submissions + 1,
    attempts = CASE p.stage WHEN 'queued' THEN 0 ELSE p.attempts END,
    overdue_at = CASE p.stage WHEN 'queued' THEN excluded.overdue_at
                      ELSE coalesce(p.overdue_at, excluded.overdue_at) END,
    deadline_at = excluded.deadline_at
   WHERE p.sealed_at IS NULL AND (p.stage = 'queued'
     OR p.stage = 'claimed' AND p.connection IN ('', excluded.connection))
  RETURNING payment_id)
  SELECT payment_id, NULL AS paused, NULL AS elsewhere FROM noted
   UNION ALL SELECT NULL, connection, NULL FROM paused
   UNION ALL SELECT payment_id, NULL, connection FROM elsewhere`;

/** The earlier stages end. A deadline that was set before stays. */
export const sealSql = `
  INSERT INTO rail_pending AS p (payment_id, reference, rail, stage, submitted_at,
    last_submission_at, sealed_at, overdue_at, deadline_at, connection)
  VALUES ($1, $2, $3, 'claimed', now(), greatest(now(), $4), now(),
    now() + $5 * interval '1 millisecond', now() + $6 * interval '1 millisecond', $7)
  ON CONFLICT (payment_id) DO UPDATE SET
    stage = CASE p.stage WHEN 'queued' THEN 'claimed' ELSE p.stage END,
    rail = excluded.rail, connection = excluded.connection,
    sealed_at = coalesce(p.sealed_at, excluded.sealed_at),
    last_submission_at = coalesce(p.last_submission_at, excluded.last_submission_at),
    overdue_at = CASE p.stage WHEN 'queued' THEN excluded.overdue_at
      WHEN 'claimed' THEN coalesce(p.overdue_at, excluded.overdue_at)
      ELSE p.overdue_at END
  RETURNING last_submission_at AS last, least(now(), $4) AS now, greatest(now(), $4) AS latest`;

/** In the same order as the notes. Says of each payment whether no other executor may have ended it meanwhile. */
export const takenSql = `
  UPDATE rail_pending p SET stage = 'submitted', attempts = 0,
         overdue_at = CASE WHEN ${ofPayment('$2')} IS NOT NULL
           THEN coalesce(p.overdue_at, now() + ${ofPayment('$2')} * interval '1 millisecond') END,
         deadline_at = now() + ${ofPayment('$3')} * interval '1 millisecond'
   WHERE p.payment_id = ANY (ARRAY(
     SELECT payment_id FROM rail_pending
      WHERE payment_id = ANY (${givenPayments}) AND stage IN ('queued', 'claimed')
      ORDER BY payment_id FOR UPDATE))
  RETURNING p.payment_id, p.sealed_at IS NULL AS "isOpen"`;

/** While a failover is this young, what is known of a payment may be of the database that was lost. */
const failoverMs = 60_000;

/**
 * The rows of ended payments ($1), in the same order as the notes. Right after a failover they stay, and are looked at
 * again after $2 milliseconds: the database may lack the end, which was recorded in the lost one, or read there.
 */
export const endSql = `
  WITH ended AS MATERIALIZED (
    SELECT payment_id, connection = ANY (ARRAY(
        SELECT connection FROM rail_connections
         WHERE paused_at > now() - ${failoverMs} * interval '1 millisecond'
            OR identity <> (SELECT rail_database_identity()))) AS is_kept
      FROM rail_pending WHERE payment_id = ANY (${givenPayments}) ORDER BY payment_id FOR UPDATE
  ), kept AS (
    UPDATE rail_pending
       SET deadline_at = least(deadline_at, now() + $2::float8 * interval '1 millisecond')
     WHERE payment_id = ANY (ARRAY(SELECT payment_id FROM ended WHERE is_kept))
  )
  DELETE FROM rail_pending
   WHERE payment_id = ANY (ARRAY(SELECT payment_id FROM ended WHERE NOT is_kept))`;

/** Deletes the rows of ended payments, see endSql. @throws connection errors of PostgreSQL */
export async function endRows(pool: pg.Pool, paymentIds: readonly string[]): Promise<void> {
  const values = [paymentIds, leaseMs];
  await pool.query({ name: 'rail-pending-end', text: endSql, values });
}

export const leaseSql = (due: DueColumn) => `
  WITH due AS (
    SELECT d.payment_id FROM unnest($3::text[]) AS c (name) CROSS JOIN LATERAL (
      SELECT payment_id FROM rail_pending WHERE connection = c.name AND ${due} <= now()
       ORDER BY ${due} LIMIT $1 FOR UPDATE SKIP LOCKED) d
  )
  UPDATE rail_pending p SET ${due} = now() + $2 * interval '1 millisecond'
   WHERE p.payment_id = ANY (ARRAY(SELECT payment_id FROM due))
  RETURNING ${columns}`;

/**
 * For several looks at a time. Null without rows. `greatest` must not be used here: it ignores null, and an empty table is
 * due at 0.
 */
export const nextSql = `
  SELECT c.look, (extract(epoch FROM min(CASE c.due
           WHEN 'deadline_at' THEN (SELECT min(deadline_at) FROM rail_pending
                                     WHERE connection = c.name AND deadline_at IS NOT NULL)
           WHEN 'overdue_at' THEN (SELECT min(overdue_at) FROM rail_pending
                                    WHERE connection = c.name AND overdue_at IS NOT NULL)
           END) - now()) * 1000)::float8 AS ms
    FROM unnest(${ofAnyLength('$1::int[]')}, $2::text[], $3::text[]) AS c (look, due, name)
   GROUP BY c.look`;

/** A tenth more or less, so that payments that failed together are not retried together. */
export function jittered(ms: number): number {
  return ms * (0.9 + 0.2 * Math.random());
}

/** PostgreSQL's clock, milliseconds since the epoch. */
export async function databaseNowMs(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ now: Date }>('SELECT now() AS now');
  if (rows[0] === undefined) throw new Error('the clock returned no row');
  return rows[0].now.getTime();
}
