import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import { type ReactNode, useEffect, useMemo } from 'react';
import type { Page } from './api.js';
import { EmptyState, LoadFailed, RestFailed } from './ui.js';
import { type TableProps, VirtualTable } from './virtual-table.js';

interface ListTableProps<Item> extends Omit<TableProps<Item>, 'items'> {
  readonly list: UseInfiniteQueryResult<InfiniteData<Page<readonly Item[]>>>;
  /** Rows below those in view that are loaded before they are reached. */
  readonly aheadMin?: number;
  /** In place of a list without items. */
  readonly empty: ReactNode;
}

/** The list of a screen, as far as it is loaded. A page that cannot be loaded hides none of those that are there. */
export function ListTable<Item>({ list, empty, ...table }: ListTableProps<Item>) {
  const { data, error, hasNextPage, isFetching, fetchNextPage } = list;
  const items = useMemo(() => data?.pages.flatMap((page) => page.data) ?? [], [data]);
  const canLoad = hasNextPage && !isFetching && error === null;
  const isEmpty = items.length === 0;
  // A page of a search may be empty, and the next one not.
  useEffect(() => {
    if (isEmpty && canLoad) void fetchNextPage();
  }, [isEmpty, canLoad, fetchNextPage]);
  if (error !== null && isEmpty)
    return <LoadFailed error={error} retry={() => void list.refetch()} />;
  const isBusy = list.isPending || (isEmpty && hasNextPage);
  return (
    <>
      <div className="card flush" aria-busy={isBusy}>
        {!isEmpty ? (
          <VirtualTable
            {...table}
            items={items}
            hasMore={hasNextPage}
            canLoad={canLoad}
            loadMore={() => void fetchNextPage()}
          />
        ) : isBusy ? (
          <EmptyState title="Loading" text="One moment." />
        ) : (
          empty
        )}
      </div>
      <RestFailed list={list} />
    </>
  );
}
