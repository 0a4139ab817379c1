/** Fees that are not collected: how many periods, and how late the closing of months is. */
import {
  collectingSeconds,
  type CollectingSeconds,
  countFeePeriods,
  feePeriodCountMax,
  type FeePeriodCounts,
  monthlyWorkLateSeconds,
} from '@pis/read-models';
import { countedGauges, type MetricsRegistry } from '@pis/service-kit';
import type pg from 'pg';

interface Figures extends FeePeriodCounts, CollectingSeconds {
  readonly lateSeconds: number;
}

export function feeGauges(
  registry: MetricsRegistry,
  pool: pg.Pool,
  now: () => Date = () => new Date(),
): void {
  const read = async (): Promise<Figures> => ({
    ...(await countFeePeriods(pool, now())),
    ...(await collectingSeconds(pool, now())),
    lateSeconds: await monthlyWorkLateSeconds(pool, 'fees', now()),
  });
  countedGauges(registry, read, [
    {
      name: 'pis_fee_periods',
      help: `Months of originators whose fees are not collected, by state, each counted up to ${feePeriodCountMax}: due, retrying (after a pause), collecting, or given_up (staff were told)`,
      label: 'state',
      numbers: {
        due: ({ due }) => due,
        retrying: ({ retrying }) => retrying,
        collecting: ({ collecting }) => collecting,
        given_up: ({ givenUp }) => givenUp,
      },
    },
    {
      name: 'pis_fee_periods_debited_twice',
      help: `Months of originators whose fees were debited twice, as staff were told in the last 7 days, counted up to ${feePeriodCountMax}`,
      label: 'within',
      numbers: { week: ({ debitedTwice }) => debitedTwice },
    },
    {
      name: 'pis_fee_collection_age_seconds',
      help: 'Age of the oldest collection of fees that has not come to an end, by state: queued (no bank has it), or sent; 0 when there is none',
      label: 'state',
      numbers: { queued: ({ queued }) => queued, sent: ({ sent }) => sent },
    },
    {
      name: 'pis_fee_month_late_seconds',
      help: 'Time since the end of the earliest month whose fees are not closed for every organization; 0 when all are closed',
      label: 'due',
      numbers: { closing: ({ lateSeconds }) => lateSeconds },
    },
  ]);
}
