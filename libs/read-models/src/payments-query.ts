/**
 * The list of payments. A hot path: named prepared statements of `pg`, one for each combination of
 * filters, each answered from an index range (Prisma's own keyset is fifteen times slower).
 */
import type pg from 'pg';
import { orUnavailable } from './connection-loss.js';
import { type ListPage, pageOf, type PageRequest } from './list-page.js';
import type { PaymentItem } from './payments.projection.js';
import { storableText } from './projection.js';

/** All that are given must hold. Times are ISO 8601, inclusive to the millisecond. */
export interface PaymentFilter {
  readonly status?: string | undefined;
  readonly originatorId?: string | undefined;
  readonly contactId?: string | undefined;
  readonly direction?: string | undefined;
  readonly paymentRail?: string | undefined;
  readonly externalPaymentId?: string | undefined;
  readonly createdFrom?: string | undefined;
  readonly createdTo?: string | undefined;
}

export interface PaymentsQuery {
  /** Newest first. @throws StoreUnavailable */
  list(
    organizationId: string,
    filter: PaymentFilter,
    page: PageRequest & { readonly limit: number },
  ): Promise<ListPage<PaymentItem>>;
}

const conditions: Readonly<Record<keyof PaymentFilter, (parameter: string) => string>> = {
  status: (parameter) => `status = ${parameter}`,
  originatorId: (parameter) => `originator_id = ${parameter}::uuid`,
  contactId: (parameter) => `contact_id = ${parameter}::uuid`,
  direction: (parameter) => `direction = ${parameter}`,
  paymentRail: (parameter) => `payment_rail = ${parameter}`,
  externalPaymentId: (parameter) => `external_payment_id = ${parameter}`,
  createdFrom: (parameter) => `created_at >= ${parameter}::timestamptz(3)`,
  createdTo: (parameter) => `created_at <= ${parameter}::timestamptz(3)`,
};
const filterNames = Object.keys(conditions) as readonly (keyof PaymentFilter)[];

interface ListedRow {
  readonly payment_id: string;
  readonly created_at: Date;
  readonly item: PaymentItem;
}

export function paymentsQuery(pool: pg.Pool): PaymentsQuery {
  const texts = new Map<string, string>();
  return {
    async list(organizationId, filter, { limit, after }) {
      const used = filterNames.filter((name) => filter[name] !== undefined);
      const shape = [...used, ...(after ? ['after'] : [])].join(',');
      const name = `payments.list(${statementNumber(shape)})`;
      const text = texts.get(name) ?? textOf(used, after !== undefined);
      texts.set(name, text);
      const values = [
        organizationId,
        limit + 1,
        ...used.map((filterName) => storableText(filter[filterName] ?? '')),
        ...(after ? [after.createdAt, after.id] : []),
      ];
      const { rows } = await orUnavailable(() => pool.query<ListedRow>({ name, text, values }));
      return pageOf(rows, limit, {
        item: (row) => row.item,
        cursor: (row) => ({ createdAt: row.created_at.toISOString(), id: row.payment_id }),
      });
    },
  };
}

/** Short and the same in every process: a name of over 63 bytes would be cut and could collide. */
function statementNumber(shape: string): number {
  const parts = new Set(shape.split(','));
  return [...filterNames, 'after'].reduce(
    (bits, part, index) => (parts.has(part) ? bits | (1 << index) : bits),
    0,
  );
}

function textOf(used: readonly (keyof PaymentFilter)[], afterCursor: boolean): string {
  const filters = used.map((name, index) => ` AND ${conditions[name](`$${index + 3}`)}`);
  const next = used.length + 3;
  const keyset = afterCursor
    ? ` AND (created_at, payment_id) < ($${next}::timestamptz(3), $${next + 1}::uuid)`
    : '';
  return `SELECT payment_id, created_at, item FROM payments
    WHERE organization_id = $1${filters.join('')}${keyset}
    ORDER BY created_at DESC, payment_id DESC LIMIT $2`;
}
