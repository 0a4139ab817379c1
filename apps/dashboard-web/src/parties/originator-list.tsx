/** The organization's own parties: one side of every payment. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { labelOf, nameOf, recipientTypes } from '../format.js';
import { ListTable } from '../list-table.js';
import { EmptyState, PageHeader } from '../ui.js';
import type { Column } from '../virtual-table.js';
import { type Originator, originatorList } from './party-queries.js';

export function OriginatorListPage() {
  const list = useInfiniteQuery(originatorList);
  return (
    <>
      <PageHeader title="Originators" />
      <ListTable
        list={list}
        label="Originators"
        columns={columns}
        idOf={({ originatorId }) => originatorId}
        empty={
          <EmptyState
            title="No originators yet"
            text="An originator is your side of every payment. Operators create one with pis originator create."
          />
        }
      />
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
