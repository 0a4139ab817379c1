/**
 * What the rules with daily limits count: amounts and payments for each rule, party and day. A payment is
 * counted once, in the transaction that finds it within all limits. A payment above a limit is not counted,
 * so it does not stop the payments after it.
 *
 * A day is one of the Eastern Time zone, as in the rails' own limits. Rows are deleted after some days.
 */
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';

/** A payment that a rule with daily limits applies to, for one party. */
export interface Admission {
  readonly rule: string;
  readonly party: 'originator' | 'contact';
  readonly partyId: string;
  readonly amountMinor: number;
  readonly totalMax: number | null;
  readonly countMax: number | null;
}

/** A payment that waits longer than this for its claim is counted again. */
const keptDays = 7;
/** Rows that one call deletes at most. */
const pruneMax = 1_000;
const pruneEveryMs = 60_000;

export class DailyTotals {
  private pruneAtMs = 0;

  constructor(private readonly pool: pg.Pool) {}

  /**
   * Counts the payment if it is within all limits. Returns the admissions whose limit it exceeds.
   * @throws connection errors
   */
  async admit(paymentId: string, admissions: readonly Admission[]): Promise<readonly Admission[]> {
    await this.prune();
    const exceeded = new Exceeded();
    try {
      await inTransaction(this.pool, async (client) => {
        const counted = await client.query(countOnceSql, [paymentId]);
        if (counted.rowCount === 0) return;
        const { rows } = await client.query<{ place: number }>(addSql, [
          admissions.map(({ rule }) => rule),
          admissions.map(({ party, partyId }) => `${party}:${partyId}`),
          admissions.map(({ amountMinor }) => amountMinor),
          admissions.map(({ totalMax }) => totalMax),
          admissions.map(({ countMax }) => countMax),
        ]);
        const within = new Set(rows.map(({ place }) => place));
        exceeded.admissions = admissions.filter((_, index) => !within.has(index + 1));
        // Nothing is counted then.
        if (exceeded.admissions.length > 0) throw exceeded;
      });
    } catch (error) {
      if (error !== exceeded) throw error;
    }
    return exceeded.admissions;
  }

  private async prune(): Promise<void> {
    if (performance.now() < this.pruneAtMs) return;
    this.pruneAtMs = performance.now() + pruneEveryMs;
    for (const table of ['rail_review_payments', 'rail_review_totals']) {
      const { rowCount } = await this.pool.query(
        `DELETE FROM ${table} WHERE ctid IN (
           SELECT ctid FROM ${table} WHERE day < ${today} - $1::int LIMIT $2)`,
        [keptDays, pruneMax],
      );
      // There may be more: the next payment goes on.
      if (rowCount === pruneMax) this.pruneAtMs = 0;
    }
  }
}

class Exceeded extends Error {
  override readonly name = 'Exceeded';
  admissions: readonly Admission[] = [];
}

const today = `(now() AT TIME ZONE 'America/New_York')::date`;

const countOnceSql = `
  INSERT INTO rail_review_payments (payment_id, day) VALUES ($1, ${today})
  ON CONFLICT (payment_id) DO NOTHING`;

/** In one order, so that two executors cannot deadlock. Returns the places of the rows that were within. */
const addSql = `
  WITH wanted AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
      WITH ORDINALITY AS w (rule, party, amount, total_max, count_max, place)
  ), added AS (
    INSERT INTO rail_review_totals AS t (rule, party, day, total_minor, payments, total_max, payments_max)
      SELECT rule, party, ${today}, amount, 1, total_max, count_max FROM wanted
       WHERE amount <= coalesce(total_max, amount) AND coalesce(count_max, 1) >= 1
       ORDER BY rule, party
    ON CONFLICT (rule, party, day) DO UPDATE SET
      total_minor = t.total_minor + excluded.total_minor,
      payments = t.payments + 1,
      total_max = excluded.total_max,
      payments_max = excluded.payments_max
     WHERE t.total_minor + excluded.total_minor
             <= coalesce(excluded.total_max, t.total_minor + excluded.total_minor)
       AND t.payments + 1 <= coalesce(excluded.payments_max, t.payments + 1)
    RETURNING rule, party
  )
  SELECT w.place::int AS place FROM wanted w JOIN added a USING (rule, party)`;
