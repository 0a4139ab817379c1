/** Statements that are late, and exports that are not written. */
import { type ExportFigures, exportFigures } from '@pis/exports';
import { monthlyWorkLateSeconds } from '@pis/read-models';
import { countedGauges, type MetricsRegistry } from '@pis/service-kit';
import type pg from 'pg';

interface Figures extends ExportFigures {
  readonly lateSeconds: number;
}

export function documentGauges(
  registry: MetricsRegistry,
  pool: pg.Pool,
  now: () => Date = () => new Date(),
): void {
  const read = async (): Promise<Figures> => ({
    ...(await exportFigures(pool)),
    lateSeconds: await monthlyWorkLateSeconds(pool, 'statements', now()),
  });
  countedGauges(registry, read, [
    {
      name: 'pis_statement_late_seconds',
      help: 'Time since the end of the earliest month that lacks a statement of an organization; 0 when all are generated',
      label: 'due',
      numbers: { generation: ({ lateSeconds }) => lateSeconds },
    },
    {
      name: 'pis_exports',
      help: 'Exports by state: queued, running, or failed (all attempts failed, in the last 24 hours)',
      label: 'state',
      numbers: {
        queued: ({ queued }) => queued,
        running: ({ running }) => running,
        failed: ({ failed }) => failed,
      },
    },
    {
      name: 'pis_export_waiting_seconds',
      help: 'How long an export has waited for the longest in an organization of which none is written now; 0 without one',
      label: 'state',
      numbers: { open: ({ waitingSeconds }) => waitingSeconds },
    },
  ]);
}
