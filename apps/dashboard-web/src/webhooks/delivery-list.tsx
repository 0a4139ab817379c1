/** The deliveries of an endpoint, the newest first. The filters are in the address. */
import { Button, Group, NativeSelect, TextInput, Title } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { labelOf } from '../format.js';
import { EmptyState, LoadFailed, RestFailed, ShortTime } from '../ui.js';
import { type Column, VirtualTable } from '../virtual-table.js';
import {
  deliveryStates,
  eventNames,
  type DeliverySearch,
  deliverySearchOf,
} from './delivery-search.js';
import { answerText, deliveriesQuery, type Delivery } from './webhook-data.js';
import { DeliveryBadge } from './delivery-badge.js';
import { useWatching } from './watching.js';

interface Props {
  readonly webhookId: string;
  readonly search: DeliverySearch;
}

export function DeliveryList({ webhookId, search }: Props) {
  const pollMs = useWatching();
  const list = useInfiniteQuery({
    ...deliveriesQuery(webhookId, search),
    // Who scrolled far down reads on: every page would be loaded again.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : pollMs),
  });
  const items = list.data?.pages.flatMap(({ data }) => data) ?? [];
  const hasMore = list.hasNextPage && !list.isFetchingNextPage && !list.isError;
  const loadMore = () => void list.fetchNextPage();
  // A page of a narrow filter may be empty although more follow.
  const isSearching = items.length === 0 && (list.hasNextPage || list.isFetching);
  useEffect(() => {
    if (items.length === 0 && hasMore) loadMore();
  });
  return (
    <section className="card flush" aria-busy={list.isPending}>
      <div className="list-head">
        <Title order={2}>Deliveries</Title>
        <Filters webhookId={webhookId} search={search} />
      </div>
      {list.isError && items.length === 0 ? (
        <LoadFailed error={list.error} retry={() => void list.refetch()} />
      ) : items.length > 0 ? (
        <>
          <VirtualTable
            label="Deliveries"
            items={items}
            columns={columns}
            idOf={({ deliveryId }) => deliveryId}
            hasMore={list.hasNextPage}
            canLoad={hasMore}
            loadMore={loadMore}
          />
          <RestFailed list={list} />
        </>
      ) : list.isPending || isSearching ? (
        <EmptyState title="Loading" text="One moment." />
      ) : Object.keys(search).length > 0 ? (
        <EmptyState title="No deliveries match" text="Change or clear the filters." />
      ) : (
        <EmptyState
          title="Nothing delivered yet"
          text="The next event that it subscribes to appears here."
        />
      )}
    </section>
  );
}

const optionsOf = (names: Readonly<Record<string, string>>) => [
  { value: '', label: 'All' },
  ...Object.entries(names).map(([value, label]) => ({ value, label })),
];

function Filters({ webhookId, search }: Props) {
  const navigate = useNavigate();
  const go = (to: DeliverySearch) =>
    void navigate({
      to: '/webhooks/$webhookId',
      params: { webhookId },
      search: to,
      replace: true,
      resetScroll: false,
    });
  const change = (name: keyof DeliverySearch, value: string) =>
    go(deliverySearchOf({ ...search, [name]: value }));
  return (
    <Group gap="sm" align="flex-end" className="filters">
      <NativeSelect
        label="Status"
        data={optionsOf(deliveryStates)}
        value={search.state ?? ''}
        onChange={({ currentTarget }) => change('state', currentTarget.value)}
      />
      <NativeSelect
        label="Event"
        data={optionsOf(eventNames)}
        value={search.eventType ?? ''}
        onChange={({ currentTarget }) => change('eventType', currentTarget.value)}
      />
      <TextInput
        type="date"
        label="From day (UTC)"
        value={search.from ?? ''}
        onChange={({ currentTarget }) => change('from', currentTarget.value)}
      />
      <TextInput
        type="date"
        label="To day (UTC)"
        value={search.to ?? ''}
        onChange={({ currentTarget }) => change('to', currentTarget.value)}
      />
      {Object.keys(search).length === 0 ? null : (
        <Button variant="subtle" color="gray" onClick={() => go({})}>
          Clear filters
        </Button>
      )}
    </Group>
  );
}

const answerOf = ({ attemptCount, lastStatusCode, lastError }: Delivery) =>
  attemptCount === 0 ? 'Not attempted yet' : answerText(lastStatusCode, lastError);

const columns: readonly Column<Delivery>[] = [
  {
    name: 'Event',
    cell: ({ webhookId, deliveryId, eventType }) => (
      <Link to="/webhooks/$webhookId/deliveries/$deliveryId" params={{ webhookId, deliveryId }}>
        {labelOf(eventNames, eventType)}
      </Link>
    ),
  },
  { name: 'Status', cell: ({ state }) => <DeliveryBadge state={state} />, width: 'status' },
  { name: 'Last attempt', cell: answerOf, title: answerOf, isWide: true },
  {
    name: 'Attempts',
    cell: ({ attemptCount }) => attemptCount,
    isWide: true,
    isAmount: true,
    width: 'attempts',
  },
  { name: 'Created', cell: ({ createdAt }) => <ShortTime at={createdAt} />, width: 'time' },
];
