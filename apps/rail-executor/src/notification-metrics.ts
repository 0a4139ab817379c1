/** The bank's notifications that are not recorded: how many, and for how long. */
import { countedGauges, type MetricsRegistry } from '@pis/service-kit';
import type pg from 'pg';

interface Counts {
  readonly untried: number;
  readonly unmatched: number;
  readonly untriedSeconds: number;
  readonly unmatchedSeconds: number;
}

/** The highest count. A larger number is reported as this one. */
const countMax = 10_000;
/** Older ones are counted, but their age is not reported: staff has been alerted long ago. */
const agedForMs = 72 * 3_600_000;

export function notificationGauges(registry: MetricsRegistry, pool: pg.Pool): void {
  const read = async (): Promise<Counts> => {
    const { rows } = await pool.query<Counts>({
      name: 'rail-notifications-count',
      text: countSql,
      values: [countMax, agedForMs],
    });
    const [counts] = rows;
    if (counts === undefined) throw new Error('the notifications were not counted');
    return counts;
  };
  countedGauges(registry, read, [
    {
      name: 'pis_rail_notifications',
      help: `Notifications of the bank that are not recorded, by state, each counted up to ${countMax}: new (not tried yet) or unmatched (tried, and kept)`,
      label: 'state',
      numbers: { new: ({ untried }) => untried, unmatched: ({ unmatched }) => unmatched },
    },
    {
      name: 'pis_rail_notification_oldest_seconds',
      help: 'Age of the oldest notification of the bank that is not recorded, by state, of the last three days; 0 when there is none',
      label: 'state',
      numbers: {
        new: ({ untriedSeconds }) => untriedSeconds,
        unmatched: ({ unmatchedSeconds }) => unmatchedSeconds,
      },
    },
  ]);
}

const countSql = `
  SELECT (SELECT count(*)::int FROM (
            SELECT FROM rail_notifications WHERE reason IS NULL LIMIT $1) n) AS untried,
         (SELECT count(*)::int FROM (
            SELECT FROM rail_notifications WHERE reason IS NOT NULL LIMIT $1) n) AS unmatched,
         (SELECT coalesce(greatest(extract(epoch FROM now() - min(received_at)), 0), 0)::float8
            FROM rail_notifications
           WHERE reason IS NULL AND received_at > now() - $2 * interval '1 millisecond')
           AS "untriedSeconds",
         (SELECT coalesce(greatest(extract(epoch FROM now() - min(received_at)), 0), 0)::float8
            FROM rail_notifications
           WHERE reason IS NOT NULL AND received_at > now() - $2 * interval '1 millisecond')
           AS "unmatchedSeconds"`;
