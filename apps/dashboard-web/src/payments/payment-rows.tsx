/** The columns of the list of payments. */
import { Text } from '@mantine/core';
import type { DashboardApi } from '@pis/dashboard/api';
import { Link } from '@tanstack/react-router';
import { directionNames, labelOf, money, nameOf } from '../format.js';
import { ShortTime, StatusBadge } from '../ui.js';
import type { Column } from '../virtual-table.js';

type Item = DashboardApi['listPayments']['data'][number];

export const paymentColumns: readonly Column<Item>[] = [
  {
    name: 'Created',
    cell: ({ createdAt }) => <ShortTime at={createdAt} />,
    isWide: true,
    width: 'time',
  },
  {
    name: 'Counterparty',
    cell: (item) => (
      <Link to="/payments/$paymentId" params={{ paymentId: item.paymentId }}>
        {counterpartyOf(item)}
      </Link>
    ),
  },
  {
    name: 'Direction',
    cell: ({ direction }) => labelOf(directionNames, direction),
    isWide: true,
    width: 'direction',
  },
  {
    name: 'Status',
    cell: ({ status, linkExpired }) => <StatusBadge status={status} linkExpired={linkExpired} />,
    width: 'status',
  },
  {
    name: 'Amount',
    cell: ({ paymentAmount }) => (
      <Text span fw={500} size="sm">
        {money(paymentAmount)}
      </Text>
    ),
    isAmount: true,
    width: 'amount',
  },
];

function counterpartyOf({ contact, status }: Item): string {
  if (contact === null) return status === 'CANCELED' ? 'Not confirmed' : 'Not confirmed yet';
  return nameOf(contact) ?? 'Erased';
}
