/** The payments of the organization, the newest first. The filters are in the address. */
import { Button, Group, NativeSelect, Text } from '@mantine/core';
import { infiniteQueryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import type { DashboardApi } from '@pis/dashboard/api';
import { useEffect, useRef } from 'react';
import { callPage } from '../api.js';
import { directionNames, labelOf, money, nameOf, statusNames } from '../format.js';
import { meQuery } from '../queries.js';
import { EmptyState, LoadFailed, PageHeader, StatusBadge, Time } from '../ui.js';

type Item = DashboardApi['listPayments']['data'][number];
type Status = keyof typeof statusNames;
type Direction = keyof typeof directionNames;

export interface PaymentSearch {
  readonly status?: Status;
  readonly direction?: Direction;
}

/** Of an address, whatever it says. */
export function paymentSearchOf({ status, direction }: Record<string, unknown>): PaymentSearch {
  return {
    ...(isKeyOf(statusNames, status) ? { status } : {}),
    ...(isKeyOf(directionNames, direction) ? { direction } : {}),
  };
}

function isKeyOf<Names extends object>(names: Names, key: unknown): key is keyof Names {
  return typeof key === 'string' && Object.hasOwn(names, key);
}

const pageSize = '50';
const rowHeight = 53;
const overscan = 12;
const refreshMs = 10_000;

const listQuery = (search: PaymentSearch) =>
  infiniteQueryOptions({
    queryKey: ['payments', 'list', search],
    queryFn: ({ pageParam, signal }) =>
      callPage('listPayments', {
        query: { ...search, limit: pageSize, ...(pageParam === null ? {} : { cursor: pageParam }) },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    // Who scrolled far down reads on: every page would be loaded again.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : refreshMs),
  });

export function PaymentListPage() {
  const search = useSearch({ from: '/shell/payments' });
  const navigate = useNavigate();
  const { data: me } = useQuery(meQuery);
  const list = useInfiniteQuery(listQuery(search));
  const items = list.data?.pages.flatMap(({ data }) => data) ?? [];
  const hasFilter = search.status !== undefined || search.direction !== undefined;
  const mayCreate = me?.role !== 'viewer';
  const create = () => void navigate({ to: '/payments/new' });

  return (
    <>
      <PageHeader
        title="Payments"
        action={mayCreate ? <Button onClick={create}>New payment</Button> : null}
      />
      <Filters search={search} />
      {list.isError ? (
        <LoadFailed error={list.error} retry={() => void list.refetch()} />
      ) : (
        <div className="card flush" aria-busy={list.isPending}>
          {items.length > 0 ? (
            <Rows
              items={items}
              hasMore={list.hasNextPage && !list.isFetchingNextPage}
              loadMore={() => void list.fetchNextPage()}
            />
          ) : list.isPending ? (
            <EmptyState title="Loading" text="One moment." />
          ) : hasFilter ? (
            <EmptyState title="No payments match" text="Change or clear the filters." />
          ) : (
            <EmptyState
              title="No payments yet"
              text="Request money from somebody, or send it. Payments made through the API appear here, too."
            />
          )}
        </div>
      )}
    </>
  );
}

const anyOption = { value: '', label: 'All' };
const optionsOf = (names: Readonly<Record<string, string>>) => [
  anyOption,
  ...Object.entries(names).map(([value, label]) => ({ value, label })),
];

function Filters({ search }: { readonly search: PaymentSearch }) {
  const navigate = useNavigate();
  const change = (name: keyof PaymentSearch, value: string) =>
    void navigate({
      to: '/payments',
      search: paymentSearchOf({ ...search, [name]: value }),
      replace: true,
    });
  return (
    <Group gap="sm" mb="md" align="flex-end">
      <NativeSelect
        label="Status"
        data={optionsOf(statusNames)}
        value={search.status ?? ''}
        onChange={(event) => change('status', event.currentTarget.value)}
      />
      <NativeSelect
        label="Direction"
        data={optionsOf(directionNames)}
        value={search.direction ?? ''}
        onChange={(event) => change('direction', event.currentTarget.value)}
      />
      {search.status === undefined && search.direction === undefined ? null : (
        <Button
          variant="subtle"
          color="gray"
          onClick={() => void navigate({ to: '/payments', search: {}, replace: true })}
        >
          Clear filters
        </Button>
      )}
    </Group>
  );
}

interface RowsProps {
  readonly items: readonly Item[];
  readonly hasMore: boolean;
  readonly loadMore: () => void;
}

/** Only the rows in view are in the page. The next page is loaded before its place comes into view. */
function Rows({ items, hasMore, loadMore }: RowsProps) {
  const table = useRef<HTMLTableElement>(null);
  const rows = useWindowVirtualizer({
    count: items.length,
    estimateSize: () => rowHeight,
    overscan,
    scrollMargin: table.current?.offsetTop ?? 0,
  });
  const shown = rows.getVirtualItems();
  const first = shown[0];
  const last = shown.at(-1);
  const before = (first?.start ?? 0) - rows.options.scrollMargin;
  const after = rows.getTotalSize() - ((last?.end ?? 0) - rows.options.scrollMargin);
  const isNearEnd = (last?.index ?? 0) >= items.length - overscan;
  useEffect(() => {
    if (isNearEnd && hasMore) loadMore();
  }, [isNearEnd, hasMore, loadMore]);

  return (
    <table className="list" ref={table} aria-rowcount={hasMore ? -1 : items.length + 1}>
      <colgroup>
        <col className="wide" />
        <col />
        <col className="wide" />
        <col />
        <col />
      </colgroup>
      <thead>
        <tr>
          <th scope="col" className="wide">
            Created
          </th>
          <th scope="col">Counterparty</th>
          <th scope="col" className="wide">
            Direction
          </th>
          <th scope="col">Status</th>
          <th scope="col" className="amount">
            Amount
          </th>
        </tr>
      </thead>
      <tbody>
        <Spacer height={before} />
        {shown.map(({ index }) => {
          const item = items[index];
          return item === undefined ? null : <Row key={item.paymentId} item={item} index={index} />;
        })}
        <Spacer height={after} />
      </tbody>
    </table>
  );
}

function Row({ item, index }: { readonly item: Item; readonly index: number }) {
  return (
    <tr className="row" aria-rowindex={index + 2}>
      <td className="wide">
        <Time at={item.createdAt} />
      </td>
      <td>
        <Link to="/payments/$paymentId" params={{ paymentId: item.paymentId }}>
          {counterpartyOf(item)}
        </Link>
      </td>
      <td className="wide">{labelOf(directionNames, item.direction)}</td>
      <td>
        <StatusBadge status={item.status} />
      </td>
      <td className="amount">
        <Text span fw={500} size="sm">
          {money(item.paymentAmount)}
        </Text>
      </td>
    </tr>
  );
}

function counterpartyOf({ contact }: Item): string {
  if (contact === null) return 'Not confirmed yet';
  return nameOf(contact) ?? 'Erased';
}

function Spacer({ height }: { readonly height: number }) {
  return height <= 0 ? null : (
    <tr className="spacer" aria-hidden="true">
      <td colSpan={5} style={{ height }} />
    </tr>
  );
}
