/**
 * What payments cost: the schedules in force and to come. In the sandbox administrators replace them, by a form or from
 * a file. In production only the operator of the service does.
 */
import { Button, Group, Stack, Text } from '@mantine/core';
import type { FeeScheduleView } from '@pis/dashboard/api';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { directionNames, money, nameOf, timeText } from '../format.js';
import { meQuery, originatorChoices } from '../queries.js';
import { EmptyState, LoadFailed, PageHeader, PageLoading } from '../ui.js';
import { type FeeState, formRowsMax, percentText, statesOf } from './fee-rows.js';
import { FeesFile } from './fees-file.js';
import { FeesForm } from './fees-form.js';
import { feesQuery } from './fees-query.js';

type Mode = 'show' | 'form' | 'file';

export function FeesPage() {
  const fees = useQuery(feesQuery);
  const { data: me } = useQuery(meQuery);
  const originators = useQuery(originatorChoices);
  const [mode, setMode] = useState<Mode>('show');
  const close = () => setMode('show');
  if (fees.isLoadingError)
    return (
      <>
        <PageHeader title="Fees" />
        <LoadFailed error={fees.error} retry={() => void fees.refetch()} />
      </>
    );
  if (fees.data === undefined) return <PageLoading title="Fees" />;
  const { schedules } = fees.data;
  // Names need them: a name that cannot be loaded is shown as its ID.
  const names = new Map(
    originators.data?.map((one) => [one.originatorId, nameOf(one) ?? one.originatorId]),
  );
  const maySet = me?.role === 'admin' && me.environment === 'sandbox';
  return (
    <>
      <PageHeader
        title="Fees"
        action={maySet && mode === 'show' ? <Actions schedules={schedules} go={setMode} /> : null}
      />
      <Stack gap="md">
        <Text size="sm" c="dimmed">
          The schedule that fits a payment best sets its fees when it is created. Payments that
          exist keep theirs.
        </Text>
        {mode === 'form' ? (
          <FeesForm schedules={schedules} originators={names} close={close} />
        ) : (
          <>
            {mode === 'file' ? <FeesFile shown={schedules} close={close} /> : null}
            <div className="card flush">
              {schedules.length === 0 ? (
                <EmptyState title="No fees" text="Without a schedule payments cost nothing." />
              ) : (
                <Schedules schedules={schedules} names={names} />
              )}
            </div>
          </>
        )}
      </Stack>
    </>
  );
}

function Actions({
  schedules,
  go,
}: {
  readonly schedules: readonly FeeScheduleView[];
  readonly go: (mode: Mode) => void;
}) {
  return (
    <Group gap="sm">
      <Button variant="default" onClick={() => go('file')}>
        Use a file
      </Button>
      {schedules.length > formRowsMax ? null : (
        <Button onClick={() => go('form')}>Change fees</Button>
      )}
    </Group>
  );
}

const stateNames = {
  'in force': 'In force',
  'to come': 'To come',
  replaced: 'Replaced',
} as const satisfies Record<FeeState, string>;

function Schedules({
  schedules,
  names,
}: {
  readonly schedules: readonly FeeScheduleView[];
  readonly names: ReadonlyMap<string, string>;
}) {
  const states = statesOf(schedules, Date.now());
  return (
    <table className="list fees">
      <thead>
        <tr>
          <th scope="col">Payments</th>
          <th scope="col">Share of the amount</th>
          <th scope="col" className="amount">
            Per payment
          </th>
          <th scope="col" className="amount">
            Per return
          </th>
          <th scope="col">State</th>
        </tr>
      </thead>
      <tbody>
        {schedules.map((schedule, index) => (
          <tr key={JSON.stringify(schedule)} className="row">
            <td>{paymentsText(schedule, names)}</td>
            <td>{shareText(schedule)}</td>
            <td className="amount">{money(schedule.flatFee)}</td>
            <td className="amount">{money(schedule.returnFee)}</td>
            <td>
              {stateNames[states[index] ?? 'in force']}
              {schedule.from === undefined ? '' : `, from ${fromText(schedule.from)}`}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function paymentsText(
  { originatorId, rail, direction }: FeeScheduleView,
  names: ReadonlyMap<string, string>,
): string {
  const parts = [
    originatorId === undefined ? null : (names.get(originatorId) ?? originatorId),
    rail ?? null,
    direction === undefined ? null : directionNames[direction],
  ].filter((part) => part !== null);
  return parts.length === 0 ? 'All payments' : parts.join(' · ');
}

function shareText(schedule: FeeScheduleView): string {
  const { discountFeeBasisPoints, discountFeeMin, discountFeeCap } = schedule;
  const limits = [
    discountFeeMin === undefined ? null : `at least ${money(discountFeeMin)}`,
    discountFeeCap === undefined ? null : `at most ${money(discountFeeCap)}`,
  ].filter((part) => part !== null);
  return [`${percentText(discountFeeBasisPoints)} %`, ...limits].join(', ');
}

/** A schedule that begins with a day in UTC is shown with that day, wherever the reader is. */
function fromText(from: string): string {
  return from.endsWith('T00:00:00.000Z') ? `${from.slice(0, 10)} (UTC)` : timeText(from);
}
