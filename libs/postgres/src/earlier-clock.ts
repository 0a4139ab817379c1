import type pg from 'pg';

/**
 * The earlier of two clocks: of this process and of PostgreSQL. For what cannot be undone, such as the end of a month:
 * one clock that is ahead, by an hour or by years, decides nothing. PostgreSQL is asked once, so take a clock for each
 * round of work.
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
