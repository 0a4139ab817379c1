/** Lists of the directory: ordinary queries, through Prisma on the process's own pool. */
import type { ContactFilter } from '@pis/contracts';
import type pg from 'pg';
import { orUnavailable } from './or-unavailable.js';
import type { ContactView, OriginatorView } from '@pis/contracts';
import type { Prisma, PrismaClient } from './generated/client.js';
import {
  assertNoMore,
  type ListCursor,
  type ListPage,
  pageOf,
  type PageRequest,
} from './list-page.js';

export interface ApiKeyItem {
  readonly apiKeyId: string;
  readonly organizationId: string;
  /** SHA-256 of the key, hex; its stream is `apiKey-<digest>`. */
  readonly digest: string;
  readonly keyType: string;
  readonly environment: string;
  /** ISO 8601, as all times. */
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

/** Of an organization: neither revoked nor expired. The dashboard creates no more. */
export const apiKeysInUseMax = 500;
/** An operator, or an earlier release, may have created more. */
const listedInUseMax = 5_000;
/** In a list: their number grows for as long as an organization exists. */
export const endedApiKeysMax = 500;

/** All lists are newest first. Every method throws StoreUnavailable when the database is unavailable. */
export interface DirectoryQuery {
  /** Without those erased; contacts too. */
  originators(organizationId: string, page?: PageRequest): Promise<ListPage<OriginatorView>>;
  contacts(
    organizationId: string,
    filter: ContactFilter,
    page?: PageRequest,
  ): Promise<ListPage<ContactView>>;
  /** Those in use, and the newest endedApiKeysMax of the others. */
  apiKeys(organizationId: string): Promise<readonly ApiKeyItem[]>;
}

export function directoryQuery(pool: pg.Pool): DirectoryQuery {
  let loading: Promise<PrismaClient> | null = null;
  const prisma = () =>
    (loading ??= prismaOn(pool).catch((error: unknown) => {
      loading = null;
      throw error;
    }));
  const newestFirst = { createdAt: 'desc' } as const;
  return {
    async originators(organizationId, { limit, after } = {}) {
      const rows = await orUnavailable(async () =>
        (await prisma()).originator.findMany({
          where: {
            organizationId,
            erasedAt: null,
            ...(after && olderThan(after, (id) => ({ originatorId: { gte: id } }))),
          },
          orderBy: [newestFirst, { originatorId: 'desc' }],
          ...oneMoreThan(limit),
        }),
      );
      return pageOf(rows, limit, {
        item: (row) => itemOf<OriginatorView>(row),
        cursor: (row) => ({ createdAt: row.createdAt.toISOString(), id: row.originatorId }),
      });
    },

    async contacts(organizationId, { originatorId, ...others }, { limit, after } = {}) {
      assertNoMore(others);
      const rows = await orUnavailable(async () =>
        (await prisma()).contact.findMany({
          where: {
            organizationId,
            erasedAt: null,
            ...(originatorId === undefined ? {} : { originatorId }),
            ...(after && olderThan(after, (id) => ({ contactId: { gte: id } }))),
          },
          orderBy: [newestFirst, { contactId: 'desc' }],
          ...oneMoreThan(limit),
        }),
      );
      return pageOf(rows, limit, {
        item: (row) => itemOf<ContactView>(row),
        cursor: (row) => ({ createdAt: row.createdAt.toISOString(), id: row.contactId }),
      });
    },

    async apiKeys(organizationId) {
      const now = new Date();
      const inUse = { revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] };
      const ended = { OR: [{ revokedAt: { not: null } }, { expiresAt: { lte: now } }] };
      const [used, others] = await orUnavailable(async () => {
        const { apiKey } = await prisma();
        const newest = (where: Prisma.ApiKeyWhereInput, take: number) =>
          apiKey.findMany({
            where: { organizationId, ...where },
            orderBy: [newestFirst, { apiKeyId: 'desc' }],
            take,
          });
        return [await newest(inUse, listedInUseMax), await newest(ended, endedApiKeysMax)];
      });
      return [...used, ...others]
        .toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime())
        .map(apiKeyItem);
    },
  };
}

/** Loaded with the first query: most processes that import this library make none of these. */
async function prismaOn(pool: pg.Pool): Promise<PrismaClient> {
  const { PrismaPg } = await import('@prisma/adapter-pg');
  const { PrismaClient } = await import('./generated/client.js');
  return new PrismaClient({ adapter: new PrismaPg(pool) });
}

/**
 * The rows after the cursor. The usual `OR` was rejected, because PostgreSQL cannot turn it into an index
 * range. Instead: a bound on the time, without the rows of that millisecond that were already shown.
 */
function olderThan<Condition>(
  { createdAt, id }: ListCursor,
  shown: (id: string) => Condition,
): { createdAt: { lte: string }; NOT: { createdAt: string } & Condition } {
  return { createdAt: { lte: createdAt }, NOT: { createdAt, ...shown(id) } };
}

function oneMoreThan(limit: number | undefined): { take?: number } {
  return limit === undefined ? {} : { take: limit + 1 };
}

/** The projection wrote it as that type. */
function itemOf<Item>({ item }: { readonly item: Prisma.JsonValue }): Item {
  return item as unknown as Item;
}

function apiKeyItem(row: Prisma.ApiKeyGetPayload<object>): ApiKeyItem {
  const { apiKeyId, organizationId, digest, keyType, environment } = row;
  return {
    apiKeyId,
    organizationId,
    digest,
    keyType,
    environment,
    createdAt: row.createdAt.toISOString(),
    expiresAt: row.expiresAt?.toISOString() ?? null,
    revokedAt: row.revokedAt?.toISOString() ?? null,
  };
}
