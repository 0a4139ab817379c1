/** What the bank reported and fits no payment, in rail-executor's tables. */
import { paymentIdOfRailReference } from '@pis/bank-rails';
import { heldRows, inTransaction, notifyOfWork } from '@pis/postgres';
import type pg from 'pg';

export interface UnmatchedNotification {
  /** For `dismiss`. */
  readonly id: string;
  /** Whose feed it is of. */
  readonly connection: string;
  /** Where it stands in the bank's feed. */
  readonly sequence: string;
  readonly reference: string;
  /** Null when no payment can have this reference. */
  readonly paymentId: string | null;
  readonly type: string;
  readonly returnReasonCode: string | null;
  /** The bank's own, of a return: it tells the returns of a payment apart. Null when the bank names none. */
  readonly returnReference: string | null;
  readonly at: string;
  readonly receivedAt: string;
  /** Why the last try did not record it. */
  readonly reason: string;
  /** Null when it is retried only on request, or when the bank reports something new on its payment. */
  readonly nextTryAt: string | null;
}

interface Row {
  readonly arrival: string;
  readonly feed: string;
  readonly sequence: string;
  readonly reference: string;
  readonly type: string;
  readonly return_reason_code: string | null;
  readonly return_reference: string | null;
  readonly at: Date;
  readonly received_at: Date;
  readonly reason: string;
  readonly next_try_at: Date | null;
}

/** All of them, the oldest first. */
export async function* unmatchedNotifications(
  pool: pg.Pool,
): AsyncGenerator<UnmatchedNotification, void, undefined> {
  const rows = heldRows<Row>(
    pool,
    `SELECT n.arrival, n.feed, n.sequence, n.reference, n.type, n.return_reason_code,
            n.detail->>'returnReference' AS return_reference, n.at, n.received_at, n.reason,
            nullif(r.due_at, 'infinity') AS next_try_at
       FROM rail_notifications n LEFT JOIN rail_notified_references r USING (feed, reference)
      WHERE n.reason IS NOT NULL ORDER BY n.received_at, n.arrival`,
  );
  for await (const row of rows)
    yield {
      id: row.arrival,
      connection: row.feed,
      sequence: row.sequence,
      reference: row.reference,
      paymentId: paymentIdOfRailReference(row.reference),
      type: row.type,
      returnReasonCode: row.return_reason_code,
      returnReference: row.return_reference,
      at: row.at.toISOString(),
      receivedAt: row.received_at.toISOString(),
      reason: row.reason,
      nextTryAt: row.next_try_at?.toISOString() ?? null,
    };
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
  await notifyOfWork(pool, 'bankNotifications');
  return rowCount ?? 0;
}

export interface DismissedNotification {
  readonly connection: string;
  readonly sequence: string;
  readonly type: string;
  /** Null when no payment can have its reference. */
  readonly paymentId: string | null;
}

/** Deletes one. What waited for it is tried at once. Null when there is none with this ID. */
export function dismissNotification(
  pool: pg.Pool,
  id: string,
): Promise<DismissedNotification | null> {
  return inTransaction(pool, async (client) => {
    // Locked before its notifications, as rail-executor does it.
    const { rows: found } = await client.query<{ feed: string; reference: string }>(
      `SELECT r.feed, r.reference FROM rail_notified_references r
        WHERE (r.feed, r.reference) IN (
          SELECT feed, reference FROM rail_notifications WHERE arrival = $1 AND reason IS NOT NULL)
        FOR UPDATE`,
      [id],
    );
    const { rows } = await client.query<Pick<Row, 'feed' | 'sequence' | 'type' | 'reference'>>(
      `DELETE FROM rail_notifications WHERE arrival = $1 AND reason IS NOT NULL
       RETURNING feed, sequence, type, reference`,
      [id],
    );
    const [row] = rows;
    if (row === undefined) return null;
    const { feed, reference, sequence, type } = row;
    if (found.length > 0) {
      await notifyOfWork(client, 'bankNotifications');
      const place = [feed, reference];
      await client.query(
        `DELETE FROM rail_notified_references r WHERE r.feed = $1 AND r.reference = $2
            AND NOT EXISTS (
              SELECT FROM rail_notifications n WHERE n.feed = $1 AND n.reference = $2)`,
        place,
      );
      await client.query(
        `UPDATE rail_notified_references SET since = now(), due_at = now()
          WHERE feed = $1 AND reference = $2`,
        place,
      );
    }
    return { connection: feed, sequence, type, paymentId: paymentIdOfRailReference(reference) };
  });
}
