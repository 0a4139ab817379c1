/** The prenote that a payment waits for, or failed by. */
import type { RailRejection } from '@pis/domain';
import type pg from 'pg';

export interface ShownPrenote {
  /** `open`: the payment stays QUEUED until its time is over. `refused`: the payment fails. `dropped`: another one is sent. */
  readonly state: 'open' | 'refused' | 'dropped';
  readonly connection: string;
  /** The file with it; null before it is in one, and when that was deleted for its age. */
  readonly file: string | null;
  readonly traceNumber: string | null;
  /** When the file was uploaded; null until the bank has accepted the prenote. */
  readonly receivedAt: string | null;
  /** When the payment is looked at again. It goes then, unless the bank says something else before. */
  readonly until: string;
  /** Why it was refused: R01 to R85 for a return, C01 to C14 for a notification of change. */
  readonly code: string | null;
}

/** Null for a payment that waits for none. */
export async function prenoteOf(pool: pg.Pool, reference: string): Promise<ShownPrenote | null> {
  const { rows } = await pool.query<{
    state: ShownPrenote['state'];
    bank: string;
    file: string | null;
    trace_number: string | null;
    received_at: Date | null;
    until: Date;
    rejection: RailRejection | null;
  }>(
    `SELECT p.state, p.bank, f.name AS file, e.trace_number, p.received_at, w.until, p.rejection
       FROM ach_prenote_waits w
       JOIN ach_prenotes p ON p.reference = w.prenote
       LEFT JOIN ach_entries e ON e.reference = p.reference
       LEFT JOIN ach_files f ON f.id = e.file_id
      WHERE w.reference = $1`,
    [reference],
  );
  const [row] = rows;
  if (row === undefined) return null;
  return {
    state: row.state,
    connection: row.bank,
    file: row.file,
    traceNumber: row.trace_number,
    receivedAt: row.received_at?.toISOString() ?? null,
    until: row.until.toISOString(),
    code: row.rejection?.railCode ?? null,
  };
}
