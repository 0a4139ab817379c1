/** Tables of records. Of a long one only the rows in view are in the page. */
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useRef } from 'react';

const rowHeight = 53;
const overscan = 12;

export interface Column<Item> {
  readonly name: string;
  readonly cell: (item: Item) => ReactNode;
  /** The whole text of a cell that may be cut. */
  readonly title?: (item: Item) => string;
  /** Not on a phone. */
  readonly isWide?: true;
  /** Figures: to the right. */
  readonly isAmount?: true;
  /** A column whose cells are never cut. Without one it shares the rest. */
  readonly width?:
    | 'time'
    | 'type'
    | 'account'
    | 'direction'
    | 'status'
    | 'amount'
    | 'attempts'
    | undefined;
}

export interface TableProps<Item> {
  readonly label: string;
  readonly items: readonly Item[];
  readonly columns: readonly Column<Item>[];
  readonly idOf: (item: Item) => string;
}

interface VirtualTableProps<Item> extends TableProps<Item> {
  /** Whether there are items that were not loaded. */
  readonly hasMore: boolean;
  /** Whether they can be loaded now. */
  readonly canLoad: boolean;
  /** Rows below those in view that are loaded before they are reached. */
  readonly aheadMin?: number;
  readonly loadMore: () => void;
}

/** The next page is loaded before its place comes into view. */
export function VirtualTable<Item>({
  label,
  items,
  columns,
  idOf,
  hasMore,
  canLoad,
  aheadMin = overscan,
  loadMore,
}: VirtualTableProps<Item>) {
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
  const isNearEnd = (last?.index ?? 0) >= items.length - aheadMin;
  useEffect(() => {
    if (isNearEnd && canLoad) loadMore();
  }, [isNearEnd, canLoad, loadMore]);

  return (
    <table
      className="list"
      ref={table}
      aria-label={label}
      aria-rowcount={hasMore ? -1 : items.length + 1}
    >
      <Head columns={columns} />
      <tbody>
        <Spacer height={before} />
        {shown.map(({ index }) => {
          const item = items[index];
          return item === undefined ? null : (
            <Row key={idOf(item)} item={item} columns={columns} index={index} />
          );
        })}
        <Spacer height={after} />
      </tbody>
    </table>
  );
}

/** A few records, within a section. */
export function ShortTable<Item>({ label, items, columns, idOf }: TableProps<Item>) {
  return (
    <table className="list plain" aria-label={label}>
      <Head columns={columns} />
      <tbody>
        {items.map((item) => (
          <Row key={idOf(item)} item={item} columns={columns} />
        ))}
      </tbody>
    </table>
  );
}

function Head<Item>({ columns }: { readonly columns: readonly Column<Item>[] }) {
  return (
    <>
      <colgroup>
        {columns.map(({ name, isWide, width }) => (
          <col key={name} className={classes(isWide && 'wide', width && `${width}-column`)} />
        ))}
      </colgroup>
      <thead>
        <tr>
          {columns.map(({ name, isWide, isAmount }) => (
            <th key={name} scope="col" className={classes(isWide && 'wide', isAmount && 'amount')}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
    </>
  );
}

function Row<Item>({
  item,
  columns,
  index,
}: {
  readonly item: Item;
  readonly columns: readonly Column<Item>[];
  /** Of a row whose neighbors may not be in the page. */
  readonly index?: number;
}) {
  return (
    <tr className="row" aria-rowindex={index === undefined ? undefined : index + 2}>
      {columns.map(({ name, cell, title, isWide, isAmount, width }) => (
        <td
          key={name}
          className={classes(isWide && 'wide', isAmount && 'amount', width === 'time' && 'time')}
          title={title?.(item)}
        >
          {cell(item)}
        </td>
      ))}
    </tr>
  );
}

function classes(...names: readonly (string | false | undefined)[]): string | undefined {
  const given = names.filter(Boolean).join(' ');
  return given === '' ? undefined : given;
}

/** One cell: a phone has fewer columns, and a cell over all of them would make the table keep their places. */
function Spacer({ height }: { readonly height: number }) {
  return height <= 0 ? null : (
    <tr className="spacer" aria-hidden="true">
      <td style={{ height }} />
    </tr>
  );
}
