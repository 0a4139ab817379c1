/**
 * Keeps the ACH tables small. An entry is needed for as long as its return may come and the bank's memory of its
 * reference lasts. A row takes about 500 bytes with its indexes. Entries that the bank has not settled stay.
 */
import type pg from 'pg';

/** Rows that one statement deletes. */
const rowsMax = 5_000;
/** The pause before the next statement, while there is more. */
const pauseMs = 1_000;
/** An account is checked again if no payment has used it for so long. */
const prenoteKeptMs = 400 * 24 * 3_600_000;
/** A file outlives its entries. */
const fileExtraMs = 7 * 24 * 3_600_000;

/** By the clocks of PostgreSQL and of this process, whose time is `$4`: one that is ahead deletes nothing. */
const isOld = (at: string, ageMs = '$2') =>
  `${at} < least(now(), $4::timestamptz) - ${ageMs} * interval '1 millisecond'`;

/**
 * @param now of this process
 * @returns milliseconds until the next call if there is more to delete, else null
 */
export async function pruneAch(
  pool: pg.Pool,
  bank: string,
  keptForMs: number,
  now: Date,
): Promise<number | null> {
  const entries = await pool.query({
    text: `DELETE FROM ach_entries WHERE reference IN (
             SELECT reference FROM ach_entries
              WHERE bank = $1 AND ${isOld('submitted_at')}
                AND status NOT IN ('waiting', 'filed')
              ORDER BY submitted_at LIMIT $3)`,
    values: [bank, keptForMs, rowsMax, now],
  });
  const reports = await pool.query({
    text: `DELETE FROM ach_feed WHERE bank = $1 AND sequence IN (
             SELECT sequence FROM ach_feed WHERE bank = $1 ORDER BY sequence LIMIT $3)
              AND ${isOld('at')}`,
    values: [bank, keptForMs, rowsMax, now],
  });
  const files = await pool.query({
    text: `DELETE FROM ach_files WHERE id IN (
             SELECT id FROM ach_files
              WHERE bank = $1 AND ${isOld('created_at')}
                AND status IN ('acknowledged', 'rejected')
              ORDER BY id LIMIT $3)`,
    values: [bank, keptForMs + fileExtraMs, rowsMax, now],
  });
  const prenotes = await pool.query({
    text: `DELETE FROM ach_prenotes WHERE reference IN (
             SELECT reference FROM ach_prenotes
              WHERE bank = $1 AND ${isOld('coalesce(used_at, created_at)')}
                AND (state <> 'open' OR ${isOld('coalesce(used_at, created_at)', '$5')})
              ORDER BY coalesce(used_at, created_at) LIMIT $3)`,
    values: [bank, keptForMs, rowsMax, now, Math.max(prenoteKeptMs, keptForMs)],
  });
  const waits = await pool.query({
    text: `DELETE FROM ach_prenote_waits WHERE reference IN (
             SELECT reference FROM ach_prenote_waits
              WHERE bank = $1 AND ${isOld('until')}
              ORDER BY until LIMIT $3)`,
    values: [bank, keptForMs, rowsMax, now],
  });
  const isFull = [entries, reports, files, prenotes, waits].some(
    ({ rowCount }) => rowCount === rowsMax,
  );
  return isFull ? pauseMs : null;
}
