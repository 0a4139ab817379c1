import type pg from 'pg';

/**
 * The earlier of this process's clock and PostgreSQL's. Use it for decisions that cannot be undone, such as ending a month:
 * one clock that runs ahead must not decide them. PostgreSQL is asked once, so create a new clock for each round.
 * @throws connection errors of PostgreSQL
 */
export async function earlierClock(
  pool: pg.Pool,
  own: () => Date = () => new Date(),
): Promise<() => Date> {
  const { rows } = await pool.query<{ now: Date }>('SELECT now() AS now');
  if (rows[0] === undefined) throw new Error('the clock returned no row');
  const askedMs = rows[0].now.getTime();
  const steadyMs = performance.now();
  return () => new Date(Math.min(own().getTime(), askedMs + performance.now() - steadyMs));
}
