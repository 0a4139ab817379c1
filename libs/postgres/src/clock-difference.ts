import type pg from 'pg';

/**
 * How far this process's clock is ahead of PostgreSQL's, in milliseconds; negative when it is behind. PostgreSQL read its clock at some
 * moment between the question and the answer. The least difference that explains the answer counts, so a slow answer is no difference.
 * @param own milliseconds since the epoch
 * @throws connection errors of PostgreSQL
 */
export async function clockDifferenceMs(
  pool: pg.Pool,
  own: () => number = Date.now,
): Promise<number> {
  const [askedMs, steadyMs] = [own(), performance.now()];
  const { rows } = await pool.query<{ at_ms: number }>({
    name: 'clock-read',
    text: 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at_ms',
  });
  const tookMs = performance.now() - steadyMs;
  if (rows[0] === undefined) throw new Error('the clock returned no row');
  const aheadMs = askedMs - rows[0].at_ms;
  if (aheadMs > 0) return aheadMs;
  return Math.min(0, aheadMs + tookMs);
}

/** Time zones that were mixed up make an hour or more. NTP keeps clocks within milliseconds. */
const differenceMaxMs = 3_600_000;

/** Nothing was done. A person must set a clock right. */
export class ClocksDiffer extends Error {
  override readonly name = 'ClocksDiffer';
}

/**
 * For what gets a date that nobody can correct afterwards, such as a file for a bank.
 * @throws ClocksDiffer when this process's clock and PostgreSQL's differ by more than an hour; connection errors of PostgreSQL
 */
export async function requireAgreeingClocks(pool: pg.Pool, own?: () => number): Promise<void> {
  const differenceMs = await clockDifferenceMs(pool, own);
  if (Math.abs(differenceMs) <= differenceMaxMs) return;
  const seconds = Math.round(Math.abs(differenceMs) / 1_000);
  const side = differenceMs > 0 ? 'ahead of' : 'behind';
  throw new ClocksDiffer(
    `the clock of this process is ${seconds} s ${side} that of PostgreSQL, so it sends nothing new to a bank: see PisClockHoldsPayments in docs/runbooks/log.md`,
  );
}
