/** What happened in a period, and what needs somebody's attention now. */
import '@mantine/core/styles/FloatingIndicator.css';
import '@mantine/core/styles/SegmentedControl.css';
import './overview.css';
import { SegmentedControl, Stack, Text } from '@mantine/core';
import type { Overview } from '@pis/dashboard/api';
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import { call } from '../api.js';
import { money } from '../format.js';
import { usePolling } from '../live.js';
import { EmptyState, LoadFailed, PageHeader, Section } from '../ui.js';
import { countText, durationText, rateText } from './figures.js';
import { FailingEndpoints, RailTable, ReturnTable } from './overview-tables.js';
import { overviewSearchOf, type Period, periods } from './overview-search.js';

/** The charts' library is larger than all else together. One file: each has headers of its own. */
const VolumeChart = lazy(async () => ({ default: (await import('./charts.js')).VolumeChart }));
const SuccessRateChart = lazy(async () => ({
  default: (await import('./charts.js')).SuccessRateChart,
}));
const OutcomesChart = lazy(async () => ({ default: (await import('./charts.js')).OutcomesChart }));
const CompletionTimeChart = lazy(async () => ({
  default: (await import('./charts.js')).CompletionTimeChart,
}));

const refreshMs = 30_000;

const overviewQuery = (days: Period) =>
  queryOptions({
    queryKey: ['overview', days],
    queryFn: ({ signal }) => call('getOverview', { query: { days: `${days}` }, signal }),
    placeholderData: keepPreviousData,
  });

export function OverviewPage() {
  const { days = 30 } = useSearch({ from: '/shell/overview' });
  const refetchInterval = usePolling(refreshMs);
  const overview = useQuery({ ...overviewQuery(days), refetchInterval });
  return (
    <div className="overview">
      <PageHeader title="Overview" action={<PeriodChoice days={days} />} />
      {overview.data !== undefined ? (
        <Figures overview={overview.data} />
      ) : overview.isError ? (
        <LoadFailed error={overview.error} retry={() => void overview.refetch()} />
      ) : (
        <div className="card flush" aria-busy>
          <EmptyState title="Loading" text="One moment." />
        </div>
      )}
    </div>
  );
}

function PeriodChoice({ days }: { readonly days: Period }) {
  const navigate = useNavigate();
  return (
    <SegmentedControl
      aria-label="Period"
      size="sm"
      data={periods.map((period) => ({ value: `${period}`, label: `${period} days` }))}
      value={`${days}`}
      onChange={(value) =>
        void navigate({
          to: '/overview',
          search: overviewSearchOf({ days: Number(value) }),
          replace: true,
        })
      }
    />
  );
}

function Figures({ overview }: { readonly overview: Overview }) {
  return (
    <Stack gap="md">
      <Stats overview={overview} />
      {overview.volume.length === 0 ? (
        <div className="card flush">
          <EmptyState
            title="No payments in this period"
            text="Figures appear here as soon as the first payment is created."
          />
        </div>
      ) : (
        <>
          <Section title="Volume by day">
            <Suspense fallback={<div className="chart" aria-busy />}>
              <VolumeChart overview={overview} />
            </Suspense>
          </Section>
          <RailCharts rails={overview.rails} />
          <RailTable rails={overview.rails} />
        </>
      )}
      <div className="halves">
        <ReturnTable returns={overview.returns} />
        <FailingEndpoints endpoints={overview.failingEndpoints} />
      </div>
      <Text size="xs" c="dimmed">
        Days are in UTC. The figures count the payments that were created in the period. Success is
        the part of the payments with an outcome that are completed now. The time to completion runs
        from queued to completed.
      </Text>
    </Stack>
  );
}

/** Nothing without an outcome: the table of the rails says so. */
function RailCharts({ rails }: { readonly rails: Overview['rails'] }) {
  if (rails.length === 0) return null;
  const hasTimes = rails.some(({ medianMs }) => medianMs !== null);
  return (
    <div className="halves">
      <Section title="Success rate by rail">
        <Suspense fallback={<div className="chart" aria-busy />}>
          <SuccessRateChart rails={rails} />
        </Suspense>
      </Section>
      <Section title="Outcomes by rail">
        <Suspense fallback={<div className="chart" aria-busy />}>
          <OutcomesChart rails={rails} />
        </Suspense>
      </Section>
      {hasTimes ? (
        <Section title="Time to completion by rail">
          <Suspense fallback={<div className="chart" aria-busy />}>
            <CompletionTimeChart rails={rails} />
          </Suspense>
        </Section>
      ) : null}
    </div>
  );
}

function Stats({ overview }: { readonly overview: Overview }) {
  const { volume, rails, duration, inDoubt, awaitingPayer, expiredLinks } = overview;
  const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
  const completed = total(rails.map((rail) => rail.completed));
  const ended = total(
    rails.map((rail) => rail.completed + rail.returned + rail.failed + rail.inDoubt),
  );
  return (
    <div className="stats">
      <Stat name="Volume" value={money(total(volume.map(({ amount }) => amount)))}>
        {countText(total(volume.map(({ payments }) => payments)), 'payment')}
      </Stat>
      <Stat name="Success rate" value={ended === 0 ? 'None yet' : rateText(completed / ended)}>
        {`${countText(completed, 'payment')} of ${ended.toLocaleString('en-US')} completed`}
      </Stat>
      <Stat
        name="Time to completion"
        value={duration.medianMs === null ? 'None yet' : durationText(duration.medianMs)}
      >
        {duration.p95Ms === null
          ? 'No payment was completed'
          : `Median. 95 % within ${durationText(duration.p95Ms)}`}
      </Stat>
      <StatLink
        name="In doubt"
        status="FAILED_IN_FLIGHT"
        value={inDoubt.payments}
        isAttention={inDoubt.payments > 0}
      >
        {inDoubt.payments === 0 ? 'No payment is in doubt' : money(inDoubt.amount)}
      </StatLink>
      <StatLink
        name="Waiting for the payer"
        status="AWAITING_CONFIRMATION"
        value={awaitingPayer.payments}
        isAttention={false}
      >
        {awaitingPayer.payments === 0 ? 'No link is open' : money(awaitingPayer.amount)}
        {expiredLinks === 0 ? null : `. ${countText(expiredLinks, 'link')} expired`}
      </StatLink>
    </div>
  );
}

function Stat({
  name,
  value,
  children,
}: {
  readonly name: string;
  readonly value: string;
  readonly children: ReactNode;
}) {
  return (
    <div className="card stat">
      <span className="name">{name}</span>
      <span className="value">{value}</span>
      <span className="more">{children}</span>
    </div>
  );
}

function StatLink({
  name,
  value,
  status,
  isAttention,
  children,
}: {
  readonly name: string;
  readonly value: number;
  readonly status: 'FAILED_IN_FLIGHT' | 'AWAITING_CONFIRMATION';
  readonly isAttention: boolean;
  readonly children: ReactNode;
}) {
  return (
    <Link
      to="/payments"
      search={{ status }}
      className={isAttention ? 'card stat attention' : 'card stat'}
    >
      <span className="name">{name}</span>
      <span className="value">{value.toLocaleString('en-US')}</span>
      <span className="more">{children}</span>
    </Link>
  );
}
