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
