/** Payments that wait for a second person, and what became of former ones. The filter is in the address. */
import { Badge, Button, Group, NativeSelect, Stack } from '@mantine/core';
import type { ApprovalState, ApprovalView } from '@pis/dashboard/api';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { callPage } from '../api.js';
import { directionNames, labelOf, money, nameOf } from '../format.js';
import { ListTable } from '../list-table.js';
import { usePolling } from '../live.js';
import { meQuery, pagesQuery } from '../queries.js';
import { EmptyState, PageHeader, ShortTime } from '../ui.js';
import type { Column } from '../virtual-table.js';
import { type ApprovalSearch, approvalSearchOf, stateNames } from './approval-search.js';
import { ApprovalSettingsSection } from './approval-settings.js';

const pageSize = '50';
const refreshMs = 10_000;

const listQuery = (search: ApprovalSearch) =>
  pagesQuery(['approvals', 'list', search], pageSize, (page, signal) =>
    callPage('listApprovals', { query: { ...search, ...page }, signal }),
  );

export function ApprovalListPage() {
  const search = useSearch({ from: '/shell/approvals' });
  const { data: me } = useQuery(meQuery);
  const everyMs = usePolling(refreshMs);
  const list = useInfiniteQuery({
    ...listQuery(search),
    // Who read on is not made to load every page again.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : everyMs),
  });
  return (
    <>
      <PageHeader title="Approvals" />
      <Stack gap="md">
        <ApprovalSettingsSection mayChange={me?.role === 'admin'} />
        <Filter search={search} />
        <ListTable
          list={list}
          label="Approvals"
          columns={columns}
          idOf={({ approvalId }) => approvalId}
          empty={
            search.state !== undefined ? (
              <EmptyState title="No approvals match" text="Change or clear the filter." />
            ) : (
              <EmptyState
                title="No approvals yet"
                text="Payments above the amount wait here until a second person approves them."
              />
            )
          }
        />
      </Stack>
    </>
  );
}

function Filter({ search }: { readonly search: ApprovalSearch }) {
  const navigate = useNavigate();
  const show = (state: string) =>
    void navigate({ to: '/approvals', search: approvalSearchOf({ state }), replace: true });
  return (
    <Group gap="sm" align="flex-end">
      <NativeSelect
        label="State"
        data={[
          { value: '', label: 'All' },
          ...Object.entries(stateNames).map(([value, label]) => ({ value, label })),
        ]}
        value={search.state ?? ''}
        onChange={({ currentTarget }) => show(currentTarget.value)}
      />
      {search.state === undefined ? null : (
        <Button variant="subtle" color="gray" onClick={() => show('')}>
          Clear filter
        </Button>
      )}
    </Group>
  );
}

const requesterOf = ({ requestedBy }: ApprovalView) => requestedBy.email ?? requestedBy.userId;

const columns: readonly Column<ApprovalView>[] = [
  {
    name: 'Requested',
    cell: ({ requestedAt }) => <ShortTime at={requestedAt} />,
    isWide: true,
    width: 'time',
  },
  {
    name: 'Counterparty',
    cell: ({ approvalId, recipient }) => (
      <Link to="/approvals/$approvalId" params={{ approvalId }}>
        {nameOf(recipient) ?? 'Erased'}
      </Link>
    ),
  },
  {
    name: 'Direction',
    cell: ({ direction }) => labelOf(directionNames, direction),
    isWide: true,
    width: 'direction',
  },
  { name: 'Requested by', cell: requesterOf, title: requesterOf, isWide: true },
  { name: 'State', cell: ({ state }) => <ApprovalBadge state={state} />, width: 'status' },
  {
    name: 'Amount',
    cell: ({ paymentAmount }) => money(paymentAmount),
    isAmount: true,
    width: 'amount',
  },
];

const colors = {
  WAITING: 'yellow',
  APPROVED: 'blue',
  CREATED: 'teal',
  REFUSED: 'red',
  REJECTED: 'red',
  WITHDRAWN: 'gray',
  EXPIRED: 'gray',
  ENDED: 'gray',
} as const satisfies Record<ApprovalState, string>;

export function ApprovalBadge({ state }: { readonly state: ApprovalState }) {
  return (
    <Badge color={colors[state]} variant="light" radius="sm" tt="none" fw={600} autoContrast>
      {labelOf(stateNames, state)}
    </Badge>
  );
}
