/**
 * The lists of contacts and originators: everything when called without paging parameters, and only
 * with them in pages that carry `meta.pagination` (rule contact-item-3).
 */
import { type OriginatorListQuery, validate, type Validated } from '@pis/contracts';
import {
  accepted,
  answer,
  type Answer,
  callerOf,
  type Cursors,
  invalid,
  type OwnWrites,
} from '@pis/http-api';
import type { ListPage, PageRequest } from '@pis/read-models';
import type { FastifyRequest } from 'fastify';

type Schema<Query> = Parameters<typeof validate<Query>>[0];

/** Of a page asked for by `cursor` alone. */
const limitDefault = 20;

export class DirectoryLists {
  constructor(
    private readonly cursors: Cursors,
    private readonly ownWrites: OwnWrites,
  ) {}

  async page<Query extends OriginatorListQuery, Item>(
    list: string,
    request: FastifyRequest,
    schema: Schema<Query>,
    read: (query: Query, page: PageRequest) => Promise<ListPage<Item>>,
  ): Promise<Answer<readonly Item[]>> {
    const { organizationId } = callerOf(request);
    const validated: Validated<Query> = validate(schema, request.query);
    const { after, problems } = this.cursors.read(list, organizationId, request.query);
    if (problems.length > 0)
      throw invalid([...(validated.ok ? [] : validated.problems), ...problems]);
    const query = accepted(validated);
    const limit = query.limit ?? (after ? limitDefault : undefined);

    await this.ownWrites.visible('directory', organizationId);
    const { items, next } = await read(query, { limit, after });
    const { data, meta } = answer(items);
    if (limit === undefined) return { data, meta };
    const nextCursor = next && this.cursors.encode(list, organizationId, next);
    return { data, meta: { ...meta, pagination: { limit, nextCursor } } };
  }
}
