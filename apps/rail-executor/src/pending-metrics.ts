/** Payments that have not ended: how many, and how late the executors are with them. */
import { countedGauges, type MetricsRegistry } from '@pis/service-kit';
import type pg from 'pg';
import type { Stage } from './pending-transfers.js';

type Counts = Readonly<Record<Stage | 'lateSeconds', number>>;

/** The highest count. A larger number is reported as this one. */
const countMax = 10_000;

export function pendingGauges(registry: MetricsRegistry, pool: pg.Pool): void {
  const read = async (): Promise<Counts> => {
    const { rows } = await pool.query<Counts>({
      name: 'rail-pending-count',
      text: countSql,
      values: [countMax],
    });
    const [counts] = rows;
    if (counts === undefined) throw new Error('the payments under way were not counted');
    return counts;
  };
  countedGauges(registry, read, [
    {
      name: 'pis_rail_payments',
      help: `Payments that are not at their end, by stage of rail_pending, each counted up to ${countMax}`,
      label: 'stage',
      numbers: {
        queued: ({ queued }) => queued,
        claimed: ({ claimed }) => claimed,
        submitted: ({ submitted }) => submitted,
        in_flight: ({ in_flight }) => in_flight,
      },
    },
    {
      name: 'pis_rail_payment_late_seconds',
      help: 'How long the payment that is due the longest has waited to be looked at, by what is due; 0 when none is late',
      label: 'due',
      numbers: { again: ({ lateSeconds }) => lateSeconds },
    },
  ]);
}

const counted = (stage: Stage) => `
  (SELECT count(*)::int FROM (
     SELECT FROM rail_pending WHERE stage = '${stage}' LIMIT $1) n) AS ${stage}`;

const countSql = `
  SELECT ${(['queued', 'claimed', 'submitted', 'in_flight'] as const).map(counted).join(',')},
         coalesce(greatest(extract(epoch FROM now() - (SELECT min(deadline_at) FROM rail_pending)), 0), 0)
           ::float8 AS "lateSeconds"`;
