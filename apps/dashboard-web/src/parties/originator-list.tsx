/** The organization's own parties: one side of every payment. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { labelOf, nameOf, recipientTypes } from '../format.js';
import { EmptyState, LoadFailed, RestFailed, PageHeader } from '../ui.js';
import { type Column, VirtualTable } from '../virtual-table.js';
import { type Originator, originatorList } from './party-queries.js';

export function OriginatorListPage() {
  const list = useInfiniteQuery(originatorList);
  const items = list.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <>
      <PageHeader title="Originators" />
      {list.isLoadingError ? (
        <LoadFailed error={list.error} retry={() => void list.refetch()} />
      ) : (
        <>
          <div className="card flush" aria-busy={list.isPending}>
            {items.length > 0 ? (
              <VirtualTable
                label="Originators"
                items={items}
                columns={columns}
                idOf={({ originatorId }) => originatorId}
                hasMore={list.hasNextPage && !list.isFetchingNextPage && !list.isError}
                loadMore={() => void list.fetchNextPage()}
              />
            ) : list.isPending ? (
              <EmptyState title="Loading" text="One moment." />
            ) : (
              <EmptyState
                title="No originators yet"
                text="An originator is your side of every payment. Operators create one with pis originator create."
              />
            )}
          </div>
          <RestFailed list={list} />
        </>
      )}
    </>
  );
}

const columns: readonly Column<Originator>[] = [
  {
    name: 'Name',
    cell: (originator) => (
      <Link to="/originators/$originatorId" params={{ originatorId: originator.originatorId }}>
        {nameOf(originator) ?? originator.originatorId}
      </Link>
    ),
  },
  {
    name: 'Type',
    cell: ({ entityType }) => labelOf(recipientTypes, entityType),
    isWide: true,
    width: 'type',
  },
  { name: 'Email', cell: ({ email }) => email, isWide: true },
  { name: 'Bank', cell: ({ bankAccount }) => bankAccount?.bankName, isWide: true },
  {
    name: 'Account',
    cell: ({ bankAccount }) => bankAccount?.achAccountNumber ?? 'None',
    width: 'account',
  },
];
