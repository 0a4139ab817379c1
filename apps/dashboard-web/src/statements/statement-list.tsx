/** Monthly statements of all originators, with their PDFs. */
import type { DashboardApi } from '@pis/dashboard/api';
import { useInfiniteQuery } from '@tanstack/react-query';
import { callPage } from '../api.js';
import { ListTable } from '../list-table.js';
import { pagesQuery } from '../queries.js';
import { EmptyState, PageHeader } from '../ui.js';
import type { Column } from '../virtual-table.js';

type Statement = DashboardApi['listStatements']['data'][number];

const pageSize = '50';

const statementList = pagesQuery(['statements', 'list'], pageSize, (query, signal) =>
  callPage('listStatements', { query, signal }),
);

export function StatementListPage() {
  const list = useInfiniteQuery(statementList);
  return (
    <>
      <PageHeader title="Statements" />
      <ListTable
        list={list}
        label="Statements"
        columns={columns}
        idOf={({ statementId }) => statementId}
        empty={
          <EmptyState
            title="No statements yet"
            text="Each originator gets a statement on the first of the month, in the time zone of your organization."
          />
        }
      />
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
