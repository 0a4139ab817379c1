/** ACH entries and files on their way to a bank: how many, and how late. */
import { achCountMax, type AchFigures, achFigures } from '@pis/bank-rails/ach';
import { countedGauges, type MetricsRegistry } from '@pis/service-kit';
import type pg from 'pg';

export function achGauges(registry: MetricsRegistry, pool: pg.Pool): void {
  countedGauges<AchFigures>(registry, () => achFigures(pool), [
    {
      name: 'pis_ach_entries',
      help: `ACH entries that the bank has not answered for, by state: waiting for a file, or filed; each counted up to ${achCountMax}`,
      label: 'state',
      numbers: { waiting: ({ waiting }) => waiting, filed: ({ filed }) => filed },
    },
    {
      name: 'pis_ach_prenote_payments',
      help: `Payments that stay QUEUED until a prenote has checked their account, counted up to ${achCountMax}`,
      label: 'state',
      numbers: { waiting: ({ awaitingPrenote }) => awaitingPrenote },
    },
    {
      name: 'pis_ach_entry_late_seconds',
      help: 'How long the ACH entry that is the latest has waited for a file beyond its cutoff; 0 when none is late',
      label: 'state',
      numbers: { waiting: ({ lateSeconds }) => lateSeconds },
    },
    {
      name: 'pis_ach_files',
      help: 'ACH files without an acknowledgement: recorded (not sent), overdue, settling (the settlement day has begun), unsendable',
      label: 'state',
      numbers: {
        recorded: ({ recorded }) => recorded,
        overdue: ({ overdue }) => overdue,
        settling: ({ settling }) => settling,
        unsendable: ({ unsendable }) => unsendable,
      },
    },
    {
      name: 'pis_ach_file_unsent_seconds',
      help: 'Age of the oldest ACH file that was not uploaded; 0 without one',
      label: 'state',
      numbers: { recorded: ({ recordedSeconds }) => recordedSeconds },
    },
    {
      name: 'pis_ach_inbox_files',
      help: 'Files that stay in the inboxes of ACH connections: unread (they cannot be read), kept (they were recorded and cannot be removed)',
      label: 'state',
      numbers: {
        unread: ({ inboxUnread }) => inboxUnread,
        kept: ({ inboxKept }) => inboxKept,
      },
    },
  ]);
}
