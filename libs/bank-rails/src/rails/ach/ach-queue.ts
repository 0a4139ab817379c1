/** Which entries are still in a queue of ours, and until when, so that the bank is not late with them. */
import type pg from 'pg';

/**
 * Of these references, those that are in no file, in a file that is being uploaded, or in one that was uploaded
 * since the inbox was last read.
 */
export async function queuedEntries(
  pool: pg.Pool,
  bank: string,
  references: readonly string[],
  inboxReadAt: Date,
): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ reference: string }>({
    name: 'ach-entries-queued',
    // OFFSET 0: the planner must look each entry up, and not search the indexes of all waiting and all filed ones.
    text: `SELECT e.reference FROM unnest($2::text[]) AS asked (reference)
            CROSS JOIN LATERAL (
              SELECT reference, status, answer, file_id FROM ach_entries
               WHERE bank = $1 AND reference = asked.reference OFFSET 0) e
             LEFT JOIN ach_files f ON f.id = e.file_id
            WHERE e.status = 'waiting'
               OR (e.status = 'filed' AND e.answer IS NULL
                   AND (f.status = 'recorded' OR (f.status = 'uploaded' AND f.uploaded_at >= $3)))`,
    values: [bank, references, inboxReadAt],
  });
  return new Set(rows.map(({ reference }) => reference));
}

/** When the files of these entries are due, milliseconds since the epoch. An entry that staff have noted has no time. */
export async function dueTimes(
  pool: pg.Pool,
  bank: string,
  references: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await pool.query<{ reference: string; due_at: Date }>({
    name: 'ach-entries-due-times',
    // OFFSET 0: as above.
    text: `SELECT e.reference, e.due_at FROM unnest($2::text[]) AS asked (reference)
            CROSS JOIN LATERAL (
              SELECT reference, due_at FROM ach_entries
               WHERE bank = $1 AND reference = asked.reference OFFSET 0) e
            WHERE e.due_at IS NOT NULL`,
    values: [bank, references],
  });
  return new Map(rows.map(({ reference, due_at: dueAt }) => [reference, dueAt.getTime()]));
}
