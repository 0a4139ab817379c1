/**
 * Search in the contacts of an organization, by name and e-mail address.
 *
 * There is no index of names. The rows of the list hold names until their contact is erased, and an index would
 * be one more copy to erase. A search reads the rows in the order of the list and compares them in the
 * process: case and accents make no difference. Each request reads a limited number of rows. The next page
 * continues after the last row that was read, so a page may have no contacts and a page after it.
 */
import type { ContactView } from '@pis/contracts';
import type pg from 'pg';
import type { ListCursor, ListPage } from './list-page.js';
import { orUnavailable } from './or-unavailable.js';

export interface ContactSearch {
  /** Words: a contact matches if its names and its e-mail address contain all of them. */
  readonly text: string;
  /** Of all originators when absent. */
  readonly originatorId?: string | undefined;
}

interface SearchedRow {
  readonly contact_id: string;
  readonly created_at: Date;
  readonly text: string;
}

/** Rows of one statement. */
const batchMax = 1_000;
/** Rows of one request: about 50 ms of work. */
const searchedMax = 10_000;

/** Newest first. @throws StoreUnavailable */
export async function searchContacts(
  pool: pg.Pool,
  organizationId: string,
  { text, originatorId }: ContactSearch,
  { limit, after }: { readonly limit: number; readonly after?: ListCursor | undefined },
): Promise<ListPage<ContactView>> {
  const words = plain(text).split(' ').filter(Boolean);
  const found: string[] = [];
  let last = after;
  let isEnd = false;
  for (let read = 0; read < searchedMax && found.length < limit && !isEnd; read += batchMax) {
    const rows = await batch(pool, organizationId, originatorId ?? null, last);
    isEnd = rows.length < batchMax;
    for (const row of rows) {
      if (found.length === limit) {
        isEnd = false;
        break;
      }
      last = { createdAt: row.created_at.toISOString(), id: row.contact_id };
      const searched = plain(row.text);
      if (words.every((word) => searched.includes(word))) found.push(row.contact_id);
    }
  }
  return {
    items: await itemsOf(pool, organizationId, found),
    next: isEnd ? null : (last ?? null),
  };
}

async function batch(
  pool: pg.Pool,
  organizationId: string,
  originatorId: string | null,
  after: ListCursor | undefined,
): Promise<readonly SearchedRow[]> {
  const { rows } = await orUnavailable(() =>
    pool.query<SearchedRow>(
      `SELECT contact_id, created_at,
              concat_ws(' ', item->>'firstName', item->>'lastName', item->>'companyName', item->>'email') AS text
         FROM contacts
        WHERE organization_id = $1 AND erased_at IS NULL
              ${originatorId === null ? '' : 'AND originator_id = $5'}
              AND ($3::timestamptz(3) IS NULL OR (created_at, contact_id) < ($3::timestamptz(3), $4::uuid))
        ORDER BY created_at DESC, contact_id DESC LIMIT $2`,
      [
        organizationId,
        batchMax,
        after?.createdAt ?? null,
        after?.id ?? null,
        ...(originatorId === null ? [] : [originatorId]),
      ],
    ),
  );
  return rows;
}

/** In the order of the IDs. Without those that were erased meanwhile. */
async function itemsOf(
  pool: pg.Pool,
  organizationId: string,
  contactIds: readonly string[],
): Promise<readonly ContactView[]> {
  if (contactIds.length === 0) return [];
  const { rows } = await orUnavailable(() =>
    pool.query<{ item: ContactView }>(
      `SELECT item FROM contacts
        WHERE organization_id = $1 AND contact_id = ANY($2::uuid[]) AND erased_at IS NULL
        ORDER BY array_position($2::uuid[], contact_id)`,
      [organizationId, contactIds],
    ),
  );
  return rows.map(({ item }) => item);
}

/** Without case, accents and surplus spaces, so that `jose` finds `José`. */
function plain(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .trim();
}
