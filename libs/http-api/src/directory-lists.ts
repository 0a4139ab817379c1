/**
 * The lists of contacts and originators. Without paging parameters they contain everything. With them, they
 * have pages and `meta.pagination` (rule contact-item-3).
 */
import type { OriginatorListQuery, OriginatorReadQuery } from '@pis/contracts';
import { outOfTime, timeLimitOfCaller } from '@pis/event-store';
import type { Cursors } from './cursor.js';
import type { OwnWrites } from './own-writes.js';
import { answer, type Answer, type Given } from './requests.js';
import { Turns } from './turns.js';
import type { ListCursor, ListPage, PageRequest } from '@pis/read-models';

/** The limit of a page that is requested by `cursor` alone. */
const limitDefault = 20;
/** Records of a whole list that are read as a page is: most lists have no more, and do not wait for longer ones. */
const shortMax = 100;
/** Records of a longer list that are read at a time. */
const batchMax = 500;
/** Longer lists of an organization. It may have any number of contacts, and the others must not wait for them. */
const wholeListTurns = { atOnceMax: 1, sizeMax: 200 } as const;

export class DirectoryLists {
  private readonly turns = new Turns(wholeListTurns);

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
    if (limit === undefined)
      return answer(await this.whole(organizationId, (page) => read(query, page)));
    const { items, next } = await read(query, { limit, after });
    const nextCursor = next && this.cursors.encode(name, organizationId, next);
    return answer(items, { limit, nextCursor });
  }

  /** Newest first, a batch at a time: other requests are answered in between. What is created meanwhile comes before the first batch. */
  private async whole<Item>(
    organizationId: string,
    read: (page: PageRequest) => Promise<ListPage<Item>>,
  ): Promise<readonly Item[]> {
    const { items, next } = await read({ limit: shortMax });
    if (next === null) return items;
    const rest = await this.turns.take(organizationId, () => allAfter(next, read));
    return [...items, ...rest];
  }
}

async function allAfter<Item>(
  place: ListCursor,
  read: (page: PageRequest) => Promise<ListPage<Item>>,
): Promise<readonly Item[]> {
  const all: Item[] = [];
  for (let after = place; ; ) {
    const { items, next } = await read({ limit: batchMax, after });
    all.push(...items);
    if (next === null) return all;
    if (timeLimitOfCaller()?.isOver === true) throw outOfTime();
    after = next;
  }
}
