/** Keyset paging, newest first: a page ends at a row, and the next begins after it, also when rows were added. */

/** The last row of a page. Encoding and signing it is the gateway's. */
export interface ListCursor {
  /** ISO 8601 with milliseconds. */
  readonly createdAt: string;
  readonly id: string;
}

export interface PageRequest {
  /** Everything when absent. */
  readonly limit?: number | undefined;
  /** The cursor of the page before; the first page when absent. */
  readonly after?: ListCursor | undefined;
}

export interface ListPage<Item> {
  readonly items: readonly Item[];
  /** Null on the last page. */
  readonly next: ListCursor | null;
}

/** `rows` has up to one row more than `limit`. The extra row only shows that there is a next page. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  limit: number | undefined,
  read: { readonly item: (row: Row) => Item; readonly cursor: (row: Row) => ListCursor },
): ListPage<Item> {
  const more = limit !== undefined && rows.length > limit;
  const shown = more ? rows.slice(0, limit) : rows;
  const last = shown.at(-1);
  return {
    items: shown.map(read.item),
    next: more && last !== undefined ? read.cursor(last) : null,
  };
}

/** Takes the filters that a list does not implement: where contracts declare one more, the list does not compile. */
export function assertNoMore(others: Readonly<Record<string, never>>): void {
  const [name] = Object.keys(others);
  if (name !== undefined) throw new Error(`no query implements the filter ${name}`);
}
