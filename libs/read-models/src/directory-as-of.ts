/**
 * Which contacts and originators a list had at a time: created by then, and not erased by then. What they looked like
 * is in their streams.
 */
import type { ContactFilter } from '@pis/contracts';
import type pg from 'pg';
import { orUnavailable } from './or-unavailable.js';
import { assertNoMore, type ListPage, pageOf, type PageRequest } from './list-page.js';

/** Newest first, by ID. @throws StoreUnavailable */
export interface DirectoryAsOf {
  originators(organizationId: string, at: string, page: PageRequest): Promise<ListPage<string>>;
  contacts(
    organizationId: string,
    filter: ContactFilter,
    at: string,
    page: PageRequest,
  ): Promise<ListPage<string>>;
}

export function directoryAsOf(pool: pg.Pool): DirectoryAsOf {
  const list = async (
    table: Table,
    values: readonly [organizationId: string, at: string],
    { limit, after }: PageRequest,
    originatorId: string | undefined,
  ) => {
    const name = `${table.name}.as_of${originatorId === undefined ? '' : '.of'}${after ? '.after' : ''}`;
    const text = textOf(table, after !== undefined, originatorId !== undefined);
    const more = [
      limit === undefined ? null : limit + 1,
      ...(after ? [after.createdAt, after.id] : []),
      ...(originatorId === undefined ? [] : [originatorId]),
    ];
    const { rows } = await orUnavailable(() =>
      pool.query<PartyRow>({ name, text, values: [...values, ...more] }),
    );
    return pageOf(rows, limit, {
      item: (row) => row.id,
      cursor: (row) => ({ createdAt: row.created_at.toISOString(), id: row.id }),
    });
  };
  return {
    originators: (organizationId, at, page) =>
      list(tables.originators, [organizationId, at], page, undefined),
    contacts: (organizationId, { originatorId, ...others }, at, page) => {
      assertNoMore(others);
      return list(tables.contacts, [organizationId, at], page, originatorId);
    },
  };
}

interface PartyRow {
  readonly id: string;
  readonly created_at: Date;
}

interface Table {
  readonly name: string;
  readonly key: string;
}

const tables = {
  originators: { name: 'originators', key: 'originator_id' },
  contacts: { name: 'contacts', key: 'contact_id' },
} as const satisfies Record<string, Table>;

/**
 * $1 is the organization, $2 the time, $3 the limit, then the cursor, then the originator. Those who are erased by now
 * have an index of their own. Of those, the list reads past the ones that were erased before the time.
 */
function textOf({ name, key }: Table, afterCursor: boolean, ofOriginator: boolean): string {
  const order = (id: string) => `ORDER BY created_at DESC, ${id} DESC LIMIT $3`;
  const keyset = afterCursor ? ` AND (created_at, ${key}) < ($4::timestamptz(3), $5::uuid)` : '';
  const owner = ofOriginator ? ` AND originator_id = $${afterCursor ? 6 : 4}::uuid` : '';
  const those = (erasure: string) =>
    `(SELECT ${key} AS id, created_at FROM ${name}
      WHERE organization_id = $1 AND created_at <= $2::timestamptz(3)${keyset}${owner} AND ${erasure}
      ${order(key)})`;
  return `SELECT id, created_at FROM (${those('erased_at IS NULL')}
    UNION ALL ${those('erased_at IS NOT NULL AND erased_at > $2::timestamptz(3)')}) AS listed ${order('id')}`;
}
