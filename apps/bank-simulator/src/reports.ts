/**
 * What the bank reports later. Each channel has one order that never changes behind a cursor. A report is
 * written together with its transfer, without a sequence number. Transactions commit in any order, so a
 * number that is assigned at that time could become visible after a larger one, and readers would miss it.
 * The number is assigned here, when the report is due, in one place: under a lock that is held until the
 * numbers are visible.
 */
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';
import type { ReportType } from './course.js';
import type { Channel, Details } from './ledger.js';

/** Any constant that no other advisory lock of the database uses: 'bank' in ASCII. */
const publishLock = 0x62616e6b;
/** Reports that are published in one transaction. */
const publishMax = 500;

export interface PublishedReport {
  readonly sequence: string;
  readonly reference: string;
  readonly type: ReportType;
  readonly code: string | null;
  readonly corrected: string | null;
  readonly deliveries: number;
  readonly dueAt: Date;
  readonly amountMinor: number | null;
  readonly details: Details | null;
}

/**
 * Publishes what is due, at most `publishMax` reports. `work` runs in the same transaction.
 * @returns milliseconds until the next report is due, 0 when one is, null when none waits
 */
export async function publishUntilNow(
  pool: pg.Pool,
  channel: Channel,
  work: ReportWork = noWork,
): Promise<number | null> {
  const dueInMs = await nextDueInMs(pool, channel);
  if (dueInMs === null || dueInMs > 0) return dueInMs;
  await publishDue(pool, channel, work);
  return nextDueInMs(pool, channel);
}

async function nextDueInMs(pool: pg.Pool, channel: Channel): Promise<number | null> {
  const { rows } = await pool.query<{ ms: number | null }>({
    name: 'bank-reports-next',
    text: `SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS ms
             FROM bank_notifications WHERE channel = $1 AND sequence IS NULL`,
    values: [channel],
  });
  const ms = rows[0]?.ms ?? null;
  return ms === null ? null : Math.max(0, Math.ceil(ms));
}

/**
 * Numbers due reports, settles the transfers that they are about, and posts the settlement to the books.
 * `work` runs in the same transaction and under the lock.
 */
async function publishDue(pool: pg.Pool, channel: Channel, work: ReportWork): Promise<void> {
  await inTransaction(pool, async (client) => {
    // A statement of its own: the next one must see what the former holder of the lock committed.
    await client.query('SELECT pg_advisory_xact_lock($1)', [publishLock]);
    const { rows } = await client.query<ReportRow>(publishSql, [channel, publishMax]);
    if (rows.length > 0) await work(rows.map(reportOf), client);
  });
}

/** Published reports behind a sequence, oldest first. */
export async function reportsAfter(
  pool: pg.Pool,
  channel: Channel,
  page: { readonly after: string; readonly max: number },
): Promise<readonly PublishedReport[]> {
  const { rows } = await pool.query<ReportRow>({
    name: 'bank-reports-read',
    text: `SELECT ${reportColumns} FROM bank_notifications n
             LEFT JOIN bank_transfers t ON t.reference = n.reference
            WHERE n.channel = $1 AND n.sequence > $2 ORDER BY n.sequence LIMIT $3`,
    values: [channel, page.after === '' ? '0' : page.after, page.max],
  });
  return rows.map(reportOf);
}

type ReportWork = (reports: readonly PublishedReport[], client: pg.ClientBase) => Promise<void>;

const noWork: ReportWork = () => Promise.resolve();

interface ReportRow {
  sequence: string;
  reference: string;
  type: ReportType;
  code: string | null;
  corrected: string | null;
  deliveries: number;
  due_at: Date;
  amount_minor: string | null;
  details: Details | null;
}

const reportColumns = `n.sequence, n.reference, n.type, n.return_reason_code AS code, n.corrected,
  n.deliveries, n.due_at, t.amount_minor, t.details`;

function reportOf(row: ReportRow): PublishedReport {
  const { sequence, reference, type, code, corrected, deliveries, due_at, details } = row;
  const amountMinor = row.amount_minor === null ? null : Number(row.amount_minor);
  return {
    sequence,
    reference,
    type,
    code,
    corrected,
    deliveries,
    dueAt: due_at,
    amountMinor,
    details,
  };
}

const publishSql = `
  WITH due AS (
    SELECT id, row_number() OVER (ORDER BY due_at, id) AS place
      FROM (SELECT id, due_at FROM bank_notifications
             WHERE channel = $1 AND sequence IS NULL AND due_at <= now()
             ORDER BY due_at, id LIMIT $2) oldest
  ), n AS (
    UPDATE bank_notifications u
       SET sequence = (SELECT coalesce(max(sequence), 0) FROM bank_notifications) + due.place
      FROM due WHERE u.id = due.id
    RETURNING u.*
  ), told AS (
    SELECT reference, bool_or(type = 'returned') AS returned, bool_or(type = 'rejected') AS rejected,
           max(return_reason_code) FILTER (WHERE type = 'returned') AS code
      FROM n WHERE type IN ('confirmed', 'returned', 'rejected') GROUP BY reference
  ), settled AS (
    UPDATE bank_transfers t
       SET status = CASE WHEN told.rejected THEN 'refused' ELSE 'accepted' END
      FROM told WHERE t.reference = told.reference AND t.status = 'pending'
  ), booked AS (
    UPDATE bank_executions e
       SET executed_at = coalesce(e.executed_at, now()),
           returned_at = CASE WHEN told.returned THEN coalesce(e.returned_at, now())
                              ELSE e.returned_at END,
           return_reason_code = coalesce(e.return_reason_code, told.code),
           state = CASE WHEN told.returned THEN 'returned'
                        WHEN e.state = 'pending' THEN 'executed' ELSE e.state END
      FROM told JOIN bank_transfers t ON t.reference = told.reference
     WHERE e.reference = t.reference AND e.number = t.executions AND NOT told.rejected
  )
  SELECT ${reportColumns} FROM n LEFT JOIN bank_transfers t ON t.reference = n.reference
   ORDER BY n.sequence`;
