import type pg from 'pg';

/** Takes the events after a position out of the log in PostgreSQL, as a restore or a failover to a replica that lagged behind does. */
export async function loseEventsAfter(pool: pg.Pool, position: number): Promise<void> {
  await pool.query('DELETE FROM events WHERE position > $1', [position]);
  await pool.query('UPDATE event_log_head SET position = $1', [position]);
}
