/** Monthly statements of all originators, with their PDFs. */
import type { DashboardApi } from '@pis/dashboard/api';
import { infiniteQueryOptions, useInfiniteQuery } from '@tanstack/react-query';
import { callPage } from '../api.js';
import { EmptyState, LoadFailed, PageHeader, RestFailed } from '../ui.js';
import { type Column, VirtualTable } from '../virtual-table.js';

type Statement = DashboardApi['listStatements']['data'][number];

const pageSize = '50';

const statementList = infiniteQueryOptions({
  queryKey: ['statements', 'list'],
  queryFn: ({ pageParam, signal }) =>
    callPage('listStatements', {
      query: { limit: pageSize, ...(pageParam === null ? {} : { cursor: pageParam }) },
      signal,
    }),
  initialPageParam: null as string | null,
  getNextPageParam: ({ nextCursor }) => nextCursor,
});

export function StatementListPage() {
  const list = useInfiniteQuery(statementList);
  const items = list.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <>
      <PageHeader title="Statements" />
      {list.isLoadingError ? (
        <LoadFailed error={list.error} retry={() => void list.refetch()} />
      ) : (
        <>
          <div className="card flush" aria-busy={list.isPending}>
            {items.length > 0 ? (
              <VirtualTable
                label="Statements"
                items={items}
                columns={columns}
                idOf={({ statementId }) => statementId}
                hasMore={list.hasNextPage && !list.isFetchingNextPage && !list.isError}
                loadMore={() => void list.fetchNextPage()}
              />
            ) : list.isPending ? (
              <EmptyState title="Loading" text="One moment." />
            ) : (
              <EmptyState
                title="No statements yet"
                text="Each originator gets a statement on the first of the month, in the time zone of your organization."
              />
            )}
          </div>
          <RestFailed list={list} />
        </>
      )}
    </>
  );
}

const month = new Intl.DateTimeFormat('en-US', { year: 'numeric', month: 'long', timeZone: 'UTC' });

function monthText({ periodYear, periodMonth }: Statement): string {
  return month.format(new Date(Date.UTC(periodYear, periodMonth - 1)));
}

const kilobyte = 1024;

const columns: readonly Column<Statement>[] = [
  { name: 'Month', cell: monthText },
  { name: 'Originator', cell: ({ originatorName }) => originatorName ?? 'Erased' },
  {
    name: 'Size',
    cell: ({ sizeBytes }) => `${Math.ceil(sizeBytes / kilobyte).toLocaleString('en-US')} KB`,
    isWide: true,
    width: 'type',
  },
  {
    name: 'PDF',
    cell: (statement) =>
      statement.originatorName === null ? (
        'None'
      ) : (
        <a
          href={`/dashboard/api/statements/${statement.statementId}/pdf`}
          aria-label={`Download ${monthText(statement)}, ${statement.originatorName}`}
          download
        >
          Download
        </a>
      ),
    width: 'type',
  },
];
