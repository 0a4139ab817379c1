/** Follows the log in PostgreSQL: how many payments were queued and how many have been completed. */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

const pollMs = 100;
const limitMs = 600_000;

export async function followOutcomes(connectionString) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  let position = '0';
  const counts = { queued: 0, completed: 0 };
  /** Positions have no gaps, so each event is read once. */
  const readOn = async () => {
    const { rows } = await client.query(
      `SELECT coalesce(max(position), $1)::text AS position,
              count(*) FILTER (WHERE type = 'PaymentQueued')::int AS queued,
              count(*) FILTER (WHERE type = 'PaymentCompleted')::int AS completed
         FROM events WHERE position > $1::bigint`,
      [position],
    );
    position = rows[0].position;
    counts.queued += rows[0].queued;
    counts.completed += rows[0].completed;
  };
  return {
    /** Until every payment of the log is COMPLETED. @returns how many are. @throws Error after ten minutes */
    async allCompleted() {
      const deadline = performance.now() + limitMs;
      for (;;) {
        await readOn();
        if (counts.completed >= counts.queued) return counts.completed;
        if (performance.now() > deadline)
          throw new Error(`only ${counts.completed} of ${counts.queued} payments are completed`);
        await delay(pollMs);
      }
    },
    close: () => client.end(),
  };
}
