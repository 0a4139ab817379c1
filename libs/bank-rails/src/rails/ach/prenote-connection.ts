/** Over which connection an account was checked. For readers that have no bank at hand. */
import type pg from 'pg';

/** Of the prenote that a payment waited for, by the payment's reference; null if it waited for none. */
export async function prenoteConnectionOf(
  pool: pg.Pool,
  reference: string,
): Promise<string | null> {
  const { rows } = await pool.query<{ bank: string }>(
    `SELECT p.bank FROM ach_prenote_waits w JOIN ach_prenotes p ON p.reference = w.prenote
      WHERE w.reference = $1`,
    [reference],
  );
  return rows[0]?.bank ?? null;
}
