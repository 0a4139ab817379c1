/** Payments that have not ended: how many, and how late the executors are with them. */
import { countedGauges, type MetricsRegistry } from '@pis/service-kit';
import type pg from 'pg';
import type { Stage } from './pending-transfers.js';

type Counts = Readonly<Record<Stage | 'lateSeconds', number>>;

export function pendingGauges(registry: MetricsRegistry, pool: pg.Pool): void {
  const read = async (): Promise<Counts> => {
    const { rows } = await pool.query<Counts>({ name: 'rail-pending-count', text: countSql });
    const [counts] = rows;
    if (counts === undefined) throw new Error('the payments under way were not counted');
    return counts;
  };
  countedGauges(registry, read, [
    {
      name: 'pis_rail_payments',
      help: 'Payments that are not at their end, by stage of rail_pending',
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

const counted = (stage: Stage) => `count(*) FILTER (WHERE stage = '${stage}')::int AS ${stage}`;

/** One pass over the table, which may be long while a rail is closed. Exported for the test of its plan. */
export const countSql = `
  SELECT ${(['queued', 'claimed', 'submitted', 'in_flight'] as const).map(counted).join(', ')},
         coalesce(greatest(extract(epoch FROM now() - min(deadline_at)), 0), 0)::float8 AS "lateSeconds"
    FROM rail_pending`;
