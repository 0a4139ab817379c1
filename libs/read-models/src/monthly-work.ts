/** How late the work is that follows the end of each month: closing the fees, and generating statements. */
import { monthAfter, monthAt, monthOf } from '@pis/domain';
import type pg from 'pg';
import { orUnavailable } from './or-unavailable.js';

/** Where each kind of work notes the last month that is done of an organization. */
const doneMonths = {
  fees: { table: 'fee_months', year: 'year', month: 'month' },
  statements: { table: 'statement_runs', year: 'done_year', month: 'done_month' },
} as const;

interface UndoneRow {
  readonly zone: string;
  readonly year: number | null;
  readonly month: number | null;
  readonly createdAt: Date;
}

/**
 * Seconds since the end of the earliest month that has ended and is not done for every organization; 0 when all are
 * done. Organizations that share a time zone and a month are one row. @throws StoreUnavailable
 */
export async function monthlyWorkLateSeconds(
  pool: pg.Pool,
  work: keyof typeof doneMonths,
  now: Date,
): Promise<number> {
  const { table, year, month } = doneMonths[work];
  const { rows } = await orUnavailable(() =>
    pool.query<UndoneRow>({
      name: `monthly-work.${work}`,
      text: `SELECT time_zone AS zone, ${year} AS year, ${month} AS month, min(created_at) AS "createdAt"
        FROM organizations LEFT JOIN ${table} USING (organization_id) GROUP BY 1, 2, 3`,
    }),
  );
  return Math.max(0, ...rows.map((row) => (now.getTime() - endOfFirst(row)) / 1_000));
}

/** When the first month ends that is not done. Milliseconds. */
function endOfFirst({ zone, year, month, createdAt }: UndoneRow): number {
  try {
    const isBegun = year !== null && month !== null;
    const first = isBegun ? monthAfter({ year, month }) : monthAt(zone, createdAt);
    return monthOf(zone, first.year, first.month).to.getTime();
  } catch (error) {
    // A time zone that this runtime does not know: the job itself reports it.
    if (error instanceof RangeError) return Infinity;
    throw error;
  }
}
