/** What the pages of contacts and originators have in common: who it is, and its payments. */
import { Text } from '@mantine/core';
import type { DashboardApi } from '@pis/dashboard/api';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call } from '../api.js';
import { directionNames, labelOf, money, nameOf, recipientTypes } from '../format.js';
import { Fact, LoadFailed, Section, ShortTime, StatusBadge, Time } from '../ui.js';
import { type Column, ShortTable } from '../virtual-table.js';
import type { Party } from './party-queries.js';

const shownMax = '10';

export function PartyFacts({
  party,
  children,
}: {
  readonly party: Party;
  readonly children?: React.ReactNode;
}) {
  const { legalAddress: address } = party;
  return (
    <Section title="Details">
      <dl className="facts">
        <Fact name="Name">{nameOf(party) ?? 'None'}</Fact>
        <Fact name="Type">{labelOf(recipientTypes, party.entityType)}</Fact>
        <Fact name="Email">{party.email ?? 'None'}</Fact>
        <Fact name="Phone number">{party.phoneNumber ?? 'None'}</Fact>
        <Fact name="Legal address">
          {address === null
            ? 'None'
            : `${address.addressLine1}, ${address.city}, ${address.state} ${address.postalCode}, ${address.countryCode}`}
        </Fact>
        {children}
        <Fact name="Created">
          <Time at={party.createdAt} />
        </Fact>
        <Fact name="Last change">
          <Time at={party.updatedAt} />
        </Fact>
      </dl>
    </Section>
  );
}

/** The newest payments of a contact or an originator. */
export function PartyPayments({
  of,
}: {
  readonly of: { readonly contactId: string } | { readonly originatorId: string };
}) {
  const payments = useQuery({
    queryKey: ['payments', 'of', of],
    queryFn: ({ signal }) => call('listPayments', { query: { ...of, limit: shownMax }, signal }),
  });
  return (
    <Section title="Payments">
      {payments.isLoadingError ? (
        <LoadFailed error={payments.error} retry={() => void payments.refetch()} />
      ) : payments.data === undefined ? (
        <Text size="sm" c="dimmed">
          Loading
        </Text>
      ) : payments.data.length === 0 ? (
        <Text size="sm" c="dimmed">
          No payments yet.
        </Text>
      ) : (
        <ShortTable
          label="Newest payments"
          items={payments.data}
          columns={columns}
          idOf={({ paymentId }) => paymentId}
        />
      )}
    </Section>
  );
}

const columns: readonly Column<DashboardApi['listPayments']['data'][number]>[] = [
  {
    name: 'Created',
    cell: ({ paymentId, createdAt }) => (
      <Link to="/payments/$paymentId" params={{ paymentId }}>
        <ShortTime at={createdAt} />
      </Link>
    ),
  },
  {
    name: 'Direction',
    cell: ({ direction }) => labelOf(directionNames, direction),
    isWide: true,
  },
  {
    name: 'Status',
    cell: ({ status, linkExpired }) => <StatusBadge status={status} linkExpired={linkExpired} />,
  },
  { name: 'Amount', cell: ({ paymentAmount }) => money(paymentAmount), isAmount: true },
];
