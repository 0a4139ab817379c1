import { MantineProvider } from '@mantine/core';
import { renderToStaticMarkup } from 'react-dom/server';
import { ListTable } from './list-table.js';

type List = Parameters<typeof ListTable<string>>[0]['list'];

const nothing = () => Promise.resolve();
/** A list of which two rows are loaded. */
const twoRows = {
  data: { pages: [{ data: ['one', 'two'], nextCursor: null }], pageParams: [null] },
  ...{ error: null, isPending: false, isFetching: false, hasNextPage: false },
  ...{ isFetchNextPageError: false, refetch: nothing, fetchNextPage: nothing },
};

/** How many rows screen readers are told of, with the head; -1 when it is not known. */
function rowsTold(state: object): string | undefined {
  const html = renderToStaticMarkup(
    <MantineProvider>
      <ListTable
        list={{ ...twoRows, ...state } as unknown as List}
        label="Words"
        columns={[{ name: 'Word', cell: (word) => word }]}
        idOf={(word) => word}
        empty={null}
      />
    </MantineProvider>,
  );
  return /aria-rowcount="(-?\d+)"/.exec(html)?.[1];
}

it.each([
  ['while there is a next page', {}],
  ['while its next page loads', { isFetching: true }],
  ['after its next page could not be loaded', { error: new Error('no answer') }],
])('a list tells screen readers that it has more rows %s', (_when, state) => {
  expect(rowsTold({ hasNextPage: true, ...state })).toBe('-1');
});

it('a list that is loaded to its end tells screen readers how many rows it has', () => {
  expect(rowsTold({})).toBe('3');
});
