/** Which entries are still in a queue of ours, so that the bank is not late with them. */
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
    text: `SELECT e.reference FROM ach_entries e LEFT JOIN ach_files f ON f.id = e.file_id
            WHERE e.bank = $1 AND e.reference = ANY ($2::text[])
              AND (e.status = 'waiting'
                   OR (e.status = 'filed' AND e.answer IS NULL
                       AND (f.status = 'recorded' OR (f.status = 'uploaded' AND f.uploaded_at >= $3))))`,
    values: [bank, references, inboxReadAt],
  });
  return new Set(rows.map(({ reference }) => reference));
}
