/** Lists: page by page, or item by item over all pages. */
import type { RequestOptions, Transport } from './transport.js';
import type { Page, PageQuery } from './types.js';

export interface ListOptions extends RequestOptions {
  /** Items per request, 1 to 100; default 100. The list has all items in any case. */
  readonly pageSize?: number | undefined;
}

const limitDefault = 20;
const pageSizeDefault = 100;

export async function pageOf<Item>(
  transport: Transport,
  path: string,
  query: PageQuery,
  options: RequestOptions | undefined,
): Promise<Page<Item>> {
  // Explicit, because without a paging parameter some lists return everything at once.
  const paged = { ...query, limit: query.limit ?? limitDefault };
  const call = { method: 'GET', path, query: paged, repeatable: true } as const;
  const { data, nextCursor } = await transport.send<readonly Item[]>(call, options);
  return { data, nextCursor };
}

/** Every loop begins with the first page again. Leaving the loop ends the requests. */
export function iterate<Item>(
  read: (page: PageQuery, options: RequestOptions) => Promise<Page<Item>>,
  { pageSize = pageSizeDefault, ...options }: ListOptions,
): AsyncIterable<Item> {
  async function* items(): AsyncGenerator<Item, void, undefined> {
    let cursor: string | undefined;
    for (;;) {
      const { data, nextCursor } = await read({ limit: pageSize, cursor }, options);
      yield* data;
      if (nextCursor === null) return;
      // A list that does not advance would never end.
      if (nextCursor === cursor)
        throw new Error('the list makes no progress: it returned the same cursor twice');
      cursor = nextCursor;
    }
  }
  return { [Symbol.asyncIterator]: items };
}
