/** Payments as their list shows them, and the fees of payments. */
import type { PaymentFilter, PaymentListItem } from '@pis/contracts';
import { type ListCursor, orUnavailable, paymentsQuery } from '@pis/read-models';
import type pg from 'pg';
import type { ExportRecord } from '../export-table.js';
import { paymentHeader, paymentValues } from './payment-fields.js';
import { boundsOf, type ExportedTable } from './table.js';

export function exportedPayments(pool: pg.Pool): ExportedTable<PaymentListItem> {
  return {
    ...paymentPages(pool),
    header: paymentHeader,
    valuesOf: paymentValues,
    shownAs: (item) => item,
  };
}

/** The fees that a payment has. `returnFee` is collected only for a payment with `returnedAt`. */
const feeFields = [
  'paymentId',
  'externalPaymentId',
  'status',
  'direction',
  'paymentRail',
  'createdAt',
  'completedAt',
  'returnedAt',
  'paymentAmount',
  'discountFee',
  'flatFee',
  'returnFee',
  'currencyCode',
] as const satisfies readonly (keyof PaymentListItem)[];

export function exportedFees(pool: pg.Pool): ExportedTable<PaymentListItem> {
  return {
    ...paymentPages(pool),
    header: ['originatorId', ...feeFields],
    valuesOf: (item) => [item.originator.id, ...feeFields.map((field) => item[field])],
    shownAs: (item) => ({
      originatorId: item.originator.id,
      ...Object.fromEntries(feeFields.map((field) => [field, item[field]])),
    }),
  };
}

function paymentPages(pool: pg.Pool): Pick<ExportedTable<PaymentListItem>, 'page' | 'count'> {
  const query = paymentsQuery(pool);
  return {
    async page(asked, cursor, limit) {
      const after = cursor === null ? undefined : (JSON.parse(cursor) as ListCursor);
      const filter = filterOf(asked);
      const { items, next } = await query.list(asked.organizationId, filter, { limit, after });
      return { items, next: next && JSON.stringify(next) };
    },
    async count(asked) {
      const { createdFrom = null, createdTo, originatorId = null } = filterOf(asked);
      const { rows } = await orUnavailable(() =>
        pool.query<{ count: number }>(
          `SELECT count(*)::float8 AS count FROM payments WHERE organization_id = $1
            AND ($2::timestamptz IS NULL OR created_at >= $2) AND created_at <= $3
            AND ($4::uuid IS NULL OR originator_id = $4)`,
          [asked.organizationId, createdFrom, createdTo, originatorId],
        ),
      );
      return rows[0]?.count ?? 0;
    },
  };
}

function filterOf(asked: ExportRecord): PaymentFilter {
  const { from, until } = boundsOf(asked);
  return { createdFrom: from, createdTo: until, originatorId: asked.originatorId ?? undefined };
}
