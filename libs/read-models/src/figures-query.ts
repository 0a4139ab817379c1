/**
 * The figures of an organization for a period of days, from the sums of the projection `figures`. The cost depends
 * on the number of days and kinds of payments, not on the number of payments.
 */
import { directions, paymentRails, paymentStatuses, type PaymentStatus } from '@pis/domain';
import type pg from 'pg';
import { durationMsOf } from './figures.projection.js';
import { orUnavailable } from './or-unavailable.js';

export interface Sum {
  readonly payments: number;
  /** In cents. */
  readonly amount: number;
}

export interface Duration {
  /** From QUEUED to COMPLETED, within 2.5 %. Null if no payment was completed. */
  readonly medianMs: number | null;
  readonly p95Ms: number | null;
}

export interface RailFigures extends Duration {
  readonly paymentRail: string;
  /** By what became of them so far. */
  readonly completed: number;
  readonly returned: number;
  readonly failed: number;
  readonly inDoubt: number;
  /** Completed payments as a part of all that have an outcome, 0 to 1. Null without any. */
  readonly successRate: number | null;
}

export interface Figures {
  /** All payments that were created on the day. Days without payments are missing. */
  readonly volume: readonly (Sum & { readonly day: string; readonly direction: string })[];
  /** Rails with payments that have an outcome. */
  readonly rails: readonly RailFigures[];
  readonly duration: Duration;
  /** Payments of the period. The most frequent first. */
  readonly returns: readonly (Sum & { readonly returnReasonCode: string | null })[];
  /** FAILED_IN_FLIGHT now, whenever they were created. */
  readonly inDoubt: Sum;
  /** AWAITING_CONFIRMATION now, whenever they were created. */
  readonly awaitingPayer: Sum;
  /** How many of those wait in vain: their links have expired. */
  readonly expiredLinks: number;
}

export interface FiguresQuery {
  /**
   * @param period days, UTC, both included
   * @param expiredUntil ISO 8601; the links of payments that were created until then have expired
   * @throws StoreUnavailable
   */
  of(
    organizationId: string,
    period: { readonly from: string; readonly to: string },
    expiredUntil: string,
  ): Promise<Figures>;
}

interface DayRow {
  readonly status: PaymentStatus;
  readonly day: string;
  readonly direction: string;
  readonly paymentRail: string;
  readonly returnReasonCode: string;
  readonly payments: number;
  readonly amount: number;
}

interface DurationRow {
  readonly paymentRail: string;
  readonly bucket: number;
  readonly payments: number;
}

const open = ['FAILED_IN_FLIGHT', 'AWAITING_CONFIRMATION'] as const satisfies PaymentStatus[];

const statements = {
  // All statuses are named, so that each is one range of the primary key.
  days: `
    SELECT status, day::text AS day, direction, payment_rail AS "paymentRail",
        return_reason_code AS "returnReasonCode", payments::float8 AS payments,
        amount_minor::float8 AS amount
      FROM payment_days
      WHERE organization_id = $1 AND status = ANY ($2::text[]) AND day BETWEEN $3::date AND $4::date
        AND payments > 0`,
  durations: `
    SELECT payment_rail AS "paymentRail", bucket, sum(payments)::float8 AS payments
      FROM payment_durations
      WHERE organization_id = $1 AND day BETWEEN $2::date AND $3::date
      GROUP BY payment_rail, bucket
      ORDER BY bucket`,
  open: `
    SELECT status, sum(payments)::float8 AS payments, sum(amount_minor)::float8 AS amount
      FROM payment_days
      WHERE organization_id = $1 AND status = ANY ($2::text[])
      GROUP BY status`,
  // Whole days from their sums. Only the payments of the day on which links expire now are counted one by one.
  expired: `
    SELECT ((SELECT coalesce(sum(payments), 0) FROM payment_days
          WHERE organization_id = $1 AND status = 'AWAITING_CONFIRMATION' AND day < $2::date)
        + (SELECT count(*) FROM payments
          WHERE organization_id = $1 AND status = 'AWAITING_CONFIRMATION'
            AND direction = ANY ($4::text[]) AND payment_rail = ANY ($5::text[])
            AND created_at >= $2::date::timestamp AT TIME ZONE 'UTC'
            AND created_at <= $3::timestamptz))::float8 AS payments`,
} as const;

export function figuresQuery(pool: pg.Pool): FiguresQuery {
  const run = async <Row extends pg.QueryResultRow>(
    name: keyof typeof statements,
    values: unknown[],
  ): Promise<readonly Row[]> => {
    const query = { name: `figures.${name}`, text: statements[name], values };
    return (await orUnavailable(() => pool.query<Row>(query))).rows;
  };
  return {
    async of(organizationId, { from, to }, expiredUntil) {
      const lastDay = expiredUntil.slice(0, 'YYYY-MM-DD'.length);
      const [days, durations, now, [expired]] = await Promise.all([
        run<DayRow>('days', [organizationId, paymentStatuses, from, to]),
        run<DurationRow>('durations', [organizationId, from, to]),
        run<Sum & { readonly status: PaymentStatus }>('open', [organizationId, open]),
        run<Pick<Sum, 'payments'>>('expired', [
          ...[organizationId, lastDay, expiredUntil, directions, paymentRails],
        ]),
      ]);
      return {
        volume: volumeOf(days),
        rails: railsOf(days, durations),
        duration: durationOf(durations),
        returns: returnsOf(days),
        inDoubt: sumOf(now.filter(({ status }) => status === 'FAILED_IN_FLIGHT')),
        awaitingPayer: sumOf(now.filter(({ status }) => status === 'AWAITING_CONFIRMATION')),
        expiredLinks: expired?.payments ?? 0,
      };
    },
  };
}

function sumOf(rows: readonly Sum[]): Sum {
  return rows.reduce<Sum>(
    (sum, { payments, amount }) => ({
      payments: sum.payments + payments,
      amount: sum.amount + amount,
    }),
    { payments: 0, amount: 0 },
  );
}

function volumeOf(days: readonly DayRow[]): Figures['volume'] {
  const groups = Map.groupBy(days, ({ day, direction }) => `${day} ${direction}`);
  return [...groups.values()]
    .flatMap((rows) => {
      const [first] = rows;
      return first ? [{ day: first.day, direction: first.direction, ...sumOf(rows) }] : [];
    })
    .toSorted((one, other) =>
      `${one.day}${one.direction}` < `${other.day}${other.direction}` ? -1 : 1,
    );
}

function railsOf(
  days: readonly DayRow[],
  durations: readonly DurationRow[],
): readonly RailFigures[] {
  return [...Map.groupBy(days, ({ paymentRail }) => paymentRail)]
    .map(([paymentRail, rows]) => {
      const counted = (status: PaymentStatus) =>
        sumOf(rows.filter((row) => row.status === status)).payments;
      const completed = counted('COMPLETED');
      const returned = counted('RETURNED');
      const failed = counted('FAILED');
      const inDoubt = counted('FAILED_IN_FLIGHT');
      const ended = completed + returned + failed + inDoubt;
      const ofRail = durations.filter((row) => row.paymentRail === paymentRail);
      return {
        paymentRail,
        ...{ completed, returned, failed, inDoubt },
        successRate: ended === 0 ? null : completed / ended,
        ...durationOf(ofRail),
      };
    })
    .filter(({ successRate }) => successRate !== null)
    .toSorted((one, other) => (one.paymentRail < other.paymentRail ? -1 : 1));
}

function returnsOf(days: readonly DayRow[]): Figures['returns'] {
  const returned = days.filter(({ status }) => status === 'RETURNED');
  return [...Map.groupBy(returned, ({ returnReasonCode }) => returnReasonCode)]
    .map(([code, rows]) => ({ returnReasonCode: code === '' ? null : code, ...sumOf(rows) }))
    .toSorted((one, other) => other.payments - one.payments);
}

function durationOf(rows: readonly DurationRow[]): Duration {
  const buckets = [...Map.groupBy(rows, ({ bucket }) => bucket)]
    .map(([bucket, same]) => ({
      bucket,
      payments: same.reduce((sum, { payments }) => sum + payments, 0),
    }))
    .filter(({ payments }) => payments > 0)
    .toSorted((one, other) => one.bucket - other.bucket);
  return { medianMs: percentileOf(buckets, 0.5), p95Ms: percentileOf(buckets, 0.95) };
}

/** The nearest rank: the smallest duration that this part of the payments did not exceed. */
function percentileOf(
  buckets: readonly { readonly bucket: number; readonly payments: number }[],
  part: number,
): number | null {
  const rank = Math.ceil(part * buckets.reduce((sum, { payments }) => sum + payments, 0));
  let seen = 0;
  for (const { bucket, payments } of buckets) {
    seen += payments;
    if (seen >= rank) return durationMsOf(bucket);
  }
  return null;
}
