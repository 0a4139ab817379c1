/**
 * The bank's feed: one order that never changes behind a cursor. A notification is written together with
 * its transfer, without a sequence number. Transactions commit in any order, so a number that is assigned
 * at that time could become visible after a larger one, and readers would miss it. The number is assigned
 * here, when the notification is due, in one place: under a lock that is held until the numbers are
 * visible.
 */
import { type BankNotificationPage, feedBeginning, notificationsMax } from '@pis/bank-rails';
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';

/** Any constant that no other advisory lock of the database uses: 'bank' in ASCII. */
const publishLock = 0x62616e6b;

interface NotificationRow {
  sequence: string;
  reference: string;
  type: 'confirmed' | 'returned' | 'rejected';
  return_reason_code: string | null;
  due_at: Date;
}

export async function readFeed(
  pool: pg.Pool,
  { after, max }: { readonly after: string; readonly max: number },
): Promise<BankNotificationPage> {
  const due = await pool.query({
    name: 'bank-feed-due',
    text: 'SELECT 1 FROM bank_notifications WHERE sequence IS NULL AND due_at <= now() LIMIT 1',
  });
  if (due.rows.length > 0) await publishDue(pool);

  const { rows } = await pool.query<NotificationRow>({
    name: 'bank-feed-read',
    text: `SELECT sequence, reference, type, return_reason_code, due_at FROM bank_notifications
            WHERE sequence > $1 ORDER BY sequence LIMIT $2`,
    values: [after === feedBeginning ? '0' : after, Math.min(max, notificationsMax)],
  });
  return {
    notifications: rows.map((row) => ({
      sequence: row.sequence,
      reference: row.reference,
      type: row.type,
      returnReasonCode: row.return_reason_code,
      rejection: null,
      correction: null,
      at: row.due_at.toISOString(),
    })),
    cursor: rows.at(-1)?.sequence ?? after,
  };
}

/** Numbers due notifications and settles the transfers that they confirm. */
async function publishDue(pool: pg.Pool): Promise<void> {
  await inTransaction(pool, async (client) => {
    // A statement of its own: the next one must see what the former holder of the lock committed.
    await client.query('SELECT pg_advisory_xact_lock($1)', [publishLock]);
    await client.query(publishSql, [notificationsMax]);
  });
}

const publishSql = `
  WITH due AS (
    SELECT id, row_number() OVER (ORDER BY due_at, id) AS place
      FROM (SELECT id, due_at FROM bank_notifications
             WHERE sequence IS NULL AND due_at <= now() ORDER BY due_at, id LIMIT $1) oldest
  ), published AS (
    UPDATE bank_notifications n
       SET sequence = (SELECT coalesce(max(sequence), 0) FROM bank_notifications) + due.place
      FROM due WHERE n.id = due.id
    RETURNING n.reference, n.type
  )
  UPDATE bank_transfers t SET status = 'accepted'
    FROM published p
   WHERE t.reference = p.reference AND p.type = 'confirmed' AND t.status = 'pending'`;
