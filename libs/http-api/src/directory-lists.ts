/**
 * The lists of contacts and originators. Without paging parameters they contain everything. With them, they
 * have pages and `meta.pagination` (rule contact-item-3).
 */
import type { OriginatorListQuery, OriginatorReadQuery } from '@pis/contracts';
import type { Cursors } from './cursor.js';
import type { OwnWrites } from './own-writes.js';
import { answer, type Answer, type Given } from './requests.js';
import type { ListPage, PageRequest } from '@pis/read-models';

/** The limit of a page that is requested by `cursor` alone. */
const limitDefault = 20;

export class DirectoryLists {
  constructor(
    private readonly cursors: Cursors,
    private readonly ownWrites: OwnWrites,
  ) {}

  async page<Query extends OriginatorListQuery & Pick<OriginatorReadQuery, 'asOf'>, Item>(
    list: string,
    organizationId: string,
    given: Given<Query>,
    read: (query: Query, page: PageRequest) => Promise<ListPage<Item>>,
  ): Promise<Answer<readonly Item[]>> {
    const { query, after, list: name } = this.cursors.pageAsOf(list, organizationId, given);
    const limit = query.limit ?? (after ? limitDefault : undefined);

    await this.ownWrites.visible('directory', organizationId);
    const { items, next } = await read(query, { limit, after });
    const { data, meta } = answer(items);
    if (limit === undefined) return { data, meta };
    const nextCursor = next && this.cursors.encode(name, organizationId, next);
    return { data, meta: { ...meta, pagination: { limit, nextCursor } } };
  }
}
