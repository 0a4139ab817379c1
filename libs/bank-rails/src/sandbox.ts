/**
 * The books of the simulated bank, as far as other apps of the sandbox use them: `pis sandbox books` reads
 * them, and the simulate endpoint has the bank report something. The simulator shares its database with the
 * rest of the sandbox.
 */
import type { Direction, PaymentRail } from '@pis/domain';
import type pg from 'pg';

export interface BookEntry {
  /** What the bank knows the transfer by: our rail reference, or the trace number of an ACH entry. */
  readonly reference: string;
  readonly rail: PaymentRail;
  readonly direction: Direction;
  /** Minor units. */
  readonly amount: number;
  /** Of the contact's account. */
  readonly accountLastFour: string | null;
  /** ISO 8601 with milliseconds. */
  readonly receivedAt: string;
  /** Null while the bank has the transfer and has not executed it. */
  readonly executedAt: string | null;
  readonly state: 'pending' | 'executed' | 'returned';
}

interface BookRow {
  reference: string;
  number: number;
  rail: PaymentRail;
  direction: Direction;
  amount_minor: string;
  account_last_four: string | null;
  received_at: Date;
  executed_at: Date | null;
  state: BookEntry['state'];
}

const pageMax = 10_000;

/** One entry per execution, in the order of the references. Rejected and voided transfers are not in the books. */
export async function bankBooks(pool: pg.Pool): Promise<readonly BookEntry[]> {
  const entries: BookEntry[] = [];
  let last: Pick<BookRow, 'reference' | 'number'> = { reference: '', number: 0 };
  for (;;) {
    const { rows } = await pool.query<BookRow>(
      `SELECT reference, number, rail, direction, amount_minor, account_last_four, received_at,
              executed_at, state
         FROM bank_executions
        WHERE (reference, number) > ($1, $2)
        ORDER BY reference, number LIMIT $3`,
      [last.reference, last.number, pageMax],
    );
    entries.push(...rows.map(bookEntry));
    const final = rows.at(-1);
    if (final === undefined || rows.length < pageMax) return entries;
    last = final;
  }
}

function bookEntry(row: BookRow): BookEntry {
  return {
    reference: row.reference,
    rail: row.rail,
    direction: row.direction,
    amount: Number(row.amount_minor),
    accountLastFour: row.account_last_four,
    receivedAt: row.received_at.toISOString(),
    executedAt: row.executed_at?.toISOString() ?? null,
    state: row.state,
  };
}

/** What a person can have the simulated bank report about a transfer. */
export type ReportByHand =
  | { readonly type: 'confirmed' }
  | { readonly type: 'returned'; readonly returnReasonCode: string | null }
  | { readonly type: 'rejected' };

/**
 * - `reported`: the books are changed, and the bank reports it like everything else.
 * - `unknown`: the bank does not have the transfer, or not yet.
 * - `contradicts`: the books say otherwise; a transfer that was executed cannot be rejected.
 */
export type ReportByHandResult = 'reported' | 'unknown' | 'contradicts';

/** @param reference of the payment, see railReferenceOf */
export async function reportByHand(
  pool: pg.Pool,
  reference: string,
  report: ReportByHand,
): Promise<ReportByHandResult> {
  const code = report.type === 'returned' ? report.returnReasonCode : null;
  const { rows } = await pool.query<{ isAllowed: boolean }>(reportSql, [
    reference,
    report.type,
    code,
  ]);
  const [known] = rows;
  if (known === undefined) return 'unknown';
  return known.isAllowed ? 'reported' : 'contradicts';
}

/** Books and report change together. The report becomes a file, a message or an entry of the feed. */
const reportSql = `
  WITH known AS (
    SELECT t.*, CASE $2
                  WHEN 'confirmed' THEN t.status IN ('pending', 'accepted')
                  WHEN 'returned' THEN t.status IN ('pending', 'accepted')
                  ELSE t.status IN ('pending', 'refused')
                END AS allowed
      FROM bank_transfers t
     WHERE t.reference IN ($1, (SELECT trace_number FROM ach_entries WHERE reference = $1))
       AND t.status <> 'voided'
       FOR UPDATE
  ), settled AS (
    UPDATE bank_transfers t
       SET status = CASE $2 WHEN 'rejected' THEN 'refused' ELSE 'accepted' END,
           executions = greatest(0, t.executions - CASE $2 WHEN 'rejected' THEN 1 ELSE 0 END)
      FROM known k WHERE k.allowed AND t.reference = k.reference AND t.status = 'pending'
  ), unexecuted AS (
    DELETE FROM bank_executions e USING known k
     WHERE k.allowed AND $2 = 'rejected' AND e.reference = k.reference AND e.number = k.executions
  ), withdrawn AS (
    -- What a delayed transfer was to report. SKIP LOCKED: whoever reports it just now waits for the transfer.
    DELETE FROM bank_notifications WHERE id IN (
      SELECT n.id FROM bank_notifications n JOIN known k ON k.reference = n.reference
       WHERE k.allowed AND $2 = 'rejected' AND n.sequence IS NULL FOR UPDATE OF n SKIP LOCKED)
  ), booked AS (
    UPDATE bank_executions e
       SET executed_at = coalesce(e.executed_at, now()),
           returned_at = CASE $2 WHEN 'returned' THEN coalesce(e.returned_at, now())
                                 ELSE e.returned_at END,
           return_reason_code = coalesce(e.return_reason_code, $3),
           state = CASE WHEN $2 = 'returned' THEN 'returned'
                        WHEN e.state = 'pending' THEN 'executed' ELSE e.state END
      FROM known k
     WHERE k.allowed AND $2 <> 'rejected' AND e.reference = k.reference AND e.number = k.executions
  ), reported AS (
    INSERT INTO bank_notifications (reference, channel, type, return_reason_code, due_at, created_at)
    SELECT k.reference, k.channel, $2, $3, now(), now() FROM known k WHERE k.allowed
  )
  SELECT allowed AS "isAllowed" FROM known`;
