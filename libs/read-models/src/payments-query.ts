/**
 * The list of payments. A hot path: named prepared statements of `pg` (Prisma's own keyset is fifteen
 * times slower).
 *
 * A page costs the same for any number of payments and any filters, even if no payment matches them. Every
 * index has its filters first, then `created_at DESC, payment_id DESC`, the order of the list. If each of
 * these filters has one value, the matches are one range that begins with the page, and only the page is
 * read. Status, direction and rail have few values. If one of them is not filtered, the newest entries of
 * the ranges of all its values are merged: 90 ranges at most.
 *
 * The exception: an externalPaymentId with an originator or a contact also reads payments of others with
 * the same label. Labels that many payments share, with parties that have few of them, are too rare for
 * another index that every status change would write.
 */
import type { PaymentFilter, PaymentListItem } from '@pis/contracts';
import { directions, paymentRails, paymentStatuses } from '@pis/domain';
import type pg from 'pg';
import { orUnavailable } from './or-unavailable.js';
import { type ListCursor, type ListPage, pageOf, type PageRequest } from './list-page.js';
import { storableText } from './projection.js';

export interface PaymentsQuery {
  /** Newest first. @throws StoreUnavailable */
  list(
    organizationId: string,
    filter: PaymentFilter,
    page: PageRequest & { readonly limit: number },
  ): Promise<ListPage<PaymentListItem>>;
}

/** Few values each. A class without a filter is read value by value: one index range for each value. */
const classes = {
  status: { column: 'status', values: paymentStatuses },
  direction: { column: 'direction', values: directions },
  paymentRail: { column: 'payment_rail', values: paymentRails },
} as const satisfies Partial<Record<keyof PaymentFilter, unknown>>;
const classNames = Object.keys(classes) as readonly (keyof typeof classes)[];

/** One for each filter that contracts declare: a new one does not compile until it is here. */
const conditions: Readonly<Record<keyof PaymentFilter, (parameter: string) => string>> = {
  status: (parameter) => `status = ${parameter}`,
  direction: (parameter) => `direction = ${parameter}`,
  paymentRail: (parameter) => `payment_rail = ${parameter}`,
  originatorId: (parameter) => `originator_id = ${parameter}::uuid`,
  contactId: (parameter) => `contact_id = ${parameter}::uuid`,
  externalPaymentId: (parameter) => `external_payment_id = ${parameter}`,
  createdFrom: (parameter) => `created_at >= ${parameter}::timestamptz(3)`,
  createdTo: (parameter) => `created_at <= ${parameter}::timestamptz(3)`,
};
const filterNames = Object.keys(conditions) as readonly (keyof PaymentFilter)[];

interface ListedRow {
  readonly payment_id: string;
  readonly created_at: Date;
  readonly item: PaymentListItem;
}

export function paymentsQuery(pool: pg.Pool): PaymentsQuery {
  const texts = new Map<string, string>();
  return {
    async list(organizationId, asked, page) {
      const { limit } = page;
      const { filter, after } = oneOfTwo(asked, page.after);
      const used = filterNames.filter((name) => filter[name] !== undefined);
      const byClass = isByClass(filter);
      const shape = [...used, ...(after ? ['after'] : [])];
      const name = `payments.list(${statementNumber(shape)})`;
      const text = texts.get(name) ?? textOf(used, after !== undefined, byClass);
      texts.set(name, text);
      const values = [
        organizationId,
        limit + 1,
        ...(after ? [after.createdAt, after.id] : []),
        ...used.map((filterName) => storableText(filter[filterName] ?? '')),
        ...(byClass ? unasked(used).map((className) => classes[className].values) : []),
      ];
      const { rows } = await orUnavailable(() => pool.query<ListedRow>({ name, text, values }));
      const { originatorId = null } = asked;
      if (originatorId !== null && rows.some(({ item }) => item.originator.id !== originatorId))
        return { items: [], next: null };
      return pageOf(rows, limit, {
        item: (row) => row.item,
        cursor: (row) => ({ createdAt: row.created_at.toISOString(), id: row.payment_id }),
      });
    },
  };
}

/**
 * If one filter implies another, only the narrower one: with both, PostgreSQL would read from the beginning
 * of the wider one to the beginning of the narrower one. Of a cursor and `createdTo` it is the earlier one.
 * A contact belongs to one originator: either all its payments match both filters or none does, and the
 * first page shows which.
 */
function oneOfTwo(asked: PaymentFilter, after: ListCursor | undefined) {
  const { createdTo, originatorId, ...others } = asked;
  const isCursorLater =
    after !== undefined && createdTo !== undefined && createdTo < after.createdAt;
  const filter: PaymentFilter = {
    ...others,
    ...(after === undefined || isCursorLater ? { createdTo } : {}),
    ...(asked.contactId === undefined ? { originatorId } : {}),
  };
  return { filter, after: isCursorLater ? undefined : after };
}

/** The filters with an index that begins with the classes. No filter, or an originator alone, has one without. */
const withClasses = [...classNames, 'contactId', 'externalPaymentId'] as const;

function isByClass(filter: PaymentFilter): boolean {
  return withClasses.some((name) => filter[name] !== undefined);
}

type FilterNames = readonly (keyof PaymentFilter)[];

function unasked(used: FilterNames) {
  return classNames.filter((name) => !used.includes(name));
}

/** Short and the same in every process: a name of over 63 bytes would be cut and could collide. */
function statementNumber(shape: readonly string[]): number {
  return [...filterNames, 'after'].reduce(
    (bits, part, index) => (shape.includes(part) ? bits | (1 << index) : bits),
    0,
  );
}

const order = 'ORDER BY created_at DESC, payment_id DESC LIMIT $2';

/** $1 is the organization, $2 the limit, then the cursor, then the filters. */
function where(used: FilterNames, afterCursor: boolean): string {
  const keyset = afterCursor
    ? ' AND (created_at, payment_id) < ($3::timestamptz(3), $4::uuid)'
    : '';
  const first = afterCursor ? 5 : 3;
  const filters = used.map((name, index) => ` AND ${conditions[name](`$${index + first}`)}`);
  return `WHERE organization_id = $1${keyset}${filters.join('')}`;
}

/**
 * The newest of each range, and of those the newest. The item is fetched only for them. So an index with
 * all the filters needs no table access, and the planner prefers it to an index with some of them. A
 * subquery fetches the item: for a join the planner may read the whole table, because it does not know the
 * limit.
 */
function textOf(used: FilterNames, afterCursor: boolean, isByClass: boolean): string {
  const merged = isByClass ? unasked(used) : [];
  const first = used.length + (afterCursor ? 5 : 3);
  const each = merged.map(
    (name, index) => `unnest($${first + index}::text[]) AS each_${classes[name].column}`,
  );
  const alike = merged.map((name) => ` AND ${classes[name].column} = each_${classes[name].column}`);
  const range = `SELECT payment_id, created_at FROM payments ${where(used, afterCursor)}${alike.join('')} ${order}`;
  return `SELECT payment_id, created_at,
      (SELECT item FROM payments WHERE payments.payment_id = page.payment_id) AS item
    FROM (SELECT newest.* FROM ${[...each, `LATERAL (${range}) AS newest`].join(', ')} ${order}) AS page
    ORDER BY created_at DESC, payment_id DESC`;
}
