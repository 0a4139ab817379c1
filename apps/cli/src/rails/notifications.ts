/** What the bank reported and fits no payment, in rail-executor's tables. */
import { paymentIdOfRailReference } from '@pis/bank-rails';
import type pg from 'pg';

export interface UnmatchedNotification {
  /** Whose feed it is of. */
  readonly connection: string;
  /** Where it stands in the bank's feed. */
  readonly sequence: string;
  readonly reference: string;
  /** Null when no payment can have this reference. */
  readonly paymentId: string | null;
  readonly type: string;
  readonly returnReasonCode: string | null;
  readonly at: string;
  readonly receivedAt: string;
  /** Why the last try did not record it. */
  readonly reason: string;
  /** Null when it is retried only on request, or when the bank reports something new on its payment. */
  readonly nextTryAt: string | null;
}

interface Row {
  readonly feed: string;
  readonly sequence: string;
  readonly reference: string;
  readonly type: string;
  readonly return_reason_code: string | null;
  readonly at: Date;
  readonly received_at: Date;
  readonly reason: string;
  readonly next_try_at: Date | null;
}

/** The oldest `max`. */
export async function unmatchedNotifications(
  pool: pg.Pool,
  max: number,
): Promise<readonly UnmatchedNotification[]> {
  const { rows } = await pool.query<Row>(
    `SELECT n.feed, n.sequence, n.reference, n.type, n.return_reason_code, n.at, n.received_at, n.reason,
            nullif(r.due_at, 'infinity') AS next_try_at
       FROM rail_notifications n LEFT JOIN rail_notified_references r USING (feed, reference)
      WHERE n.reason IS NOT NULL ORDER BY n.received_at, n.arrival LIMIT $1`,
    [max],
  );
  return rows.map((row) => ({
    connection: row.feed,
    sequence: row.sequence,
    reference: row.reference,
    paymentId: paymentIdOfRailReference(row.reference),
    type: row.type,
    returnReasonCode: row.return_reason_code,
    at: row.at.toISOString(),
    receivedAt: row.received_at.toISOString(),
    reason: row.reason,
    nextTryAt: row.next_try_at?.toISOString() ?? null,
  }));
}

/**
 * Makes rail-executor try the notifications of a reference at once, or of all references (null). After that
 * it retries them by age, as if they had just arrived. Returns how many references those are.
 */
export async function retryNotifications(pool: pg.Pool, reference: string | null): Promise<number> {
  // Locked in the order in which rail-executor locks them.
  const { rowCount } = await pool.query(
    `UPDATE rail_notified_references r SET since = now(), due_at = now()
       FROM (SELECT feed, reference FROM rail_notified_references
              WHERE tries > 0 AND ($1::text IS NULL OR reference = $1)
              ORDER BY feed, reference FOR UPDATE) asked
      WHERE r.feed = asked.feed AND r.reference = asked.reference`,
    [reference],
  );
  return rowCount ?? 0;
}
