/** The payments of the organization, the newest first. The filters are in the address. */
import './payment-list.css';
import { Button, Group } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { callPage } from '../api.js';
import { usePolling } from '../live.js';
import { ListTable } from '../list-table.js';
import { meQuery, pagesQuery } from '../queries.js';
import { EmptyState, PageHeader } from '../ui.js';
import { ExportProgress, useCsvExport } from './csv-export.js';
import { PaymentFilters } from './payment-filters.js';
import { paymentColumns } from './payment-rows.js';
import { hasFilters, type PaymentSearch } from './payment-search.js';
import { SavedViews } from './saved-views-bar.js';

const pageSize = '100';
const refreshMs = 10_000;
/** Rows below those in view that are loaded before they are reached. */
const aheadMin = 100;

const listQuery = (search: PaymentSearch) => ({
  ...pagesQuery(['payments', 'list', search], pageSize, (page, signal) =>
    callPage('listPayments', { query: { ...search, ...page }, signal }),
  ),
  // It would compare all pages with each new one.
  structuralSharing: false,
});

export function PaymentListPage() {
  const search = useSearch({ from: '/shell/payments' });
  const { data: me } = useQuery(meQuery);
  const download = useCsvExport(search);
  const navigate = useNavigate();
  return (
    <>
      <PageHeader
        title="Payments"
        action={
          <Group gap="sm">
            <Button
              variant="default"
              disabled={download.export.state === 'running'}
              onClick={download.start}
            >
              Export CSV
            </Button>
            {me?.role === 'viewer' ? null : (
              <Button onClick={() => void navigate({ to: '/payments/new' })}>New payment</Button>
            )}
          </Group>
        }
      />
      {me ? <SavedViews organizationId={me.organizationId} search={search} /> : null}
      <PaymentFilters search={search} />
      <ExportProgress download={download} />
      <PaymentList search={search} />
    </>
  );
}

function PaymentList({ search }: { readonly search: PaymentSearch }) {
  const pollMs = usePolling(refreshMs);
  const list = useInfiniteQuery({
    ...listQuery(search),
    // Who scrolled far down reads on: every page would be loaded again.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : pollMs),
  });
  return (
    <ListTable
      list={list}
      label="Payments"
      columns={paymentColumns}
      idOf={({ paymentId }) => paymentId}
      aheadMin={aheadMin}
      empty={
        hasFilters(search) ? (
          <EmptyState title="No payments match" text="Change or clear the filters." />
        ) : (
          <EmptyState
            title="No payments yet"
            text="Request money from somebody, or send it. Payments made through the API appear here, too."
          />
        )
      }
    />
  );
}
