/**
 * Which payments were in a status, or on a rail, at a time: a page of them, newest first, from `payment_periods`.
 *
 * The list is ordered by creation, and what qualifies depends on the time. An index by creation alone was rejected: a
 * list of the few payments that were PROCESSING a year ago would read past all that ever were. Therefore each period
 * is in a band, by the age of its payment, in powers of two: at its end, or at its beginning while it lasts. A payment
 * of an age x at the time asked for is in a period that ended at a later age, or began at an earlier one. So of each
 * band only a range of creation times can qualify, and that range is an index range in the order of the list. What is
 * read in vain is at the edge of a range: payments that are a factor of two from it.
 */
import { directions, paymentRails, paymentStatuses } from '@pis/domain';
import type { PaymentFilter } from '@pis/contracts';
import type pg from 'pg';
import { orUnavailable } from './or-unavailable.js';
import {
  assertNoMore,
  type ListCursor,
  type ListPage,
  pageOf,
  type PageRequest,
} from './list-page.js';

/** Whose payments: a contact's, an originator's, or all of the organization. */
export type PeriodFilter = Omit<PaymentFilter, 'externalPaymentId'>;

export interface PaymentPeriods {
  /** The IDs of a page. With a contact, an originator is not a filter. @throws StoreUnavailable */
  list(
    organizationId: string,
    filter: PeriodFilter,
    at: string,
    page: PageRequest & { readonly limit: number },
  ): Promise<ListPage<string>>;
}

/** The band of age k has the ages from 2^(k-1) to below 2^k milliseconds. The last one is 70 years. */
const agesMax = 41;
/** Added for a period that lasts, which is in the band of its beginning. */
const lasting = 64;

function ageBand(createdAt: string, at: string): number {
  const ageMs = Date.parse(at) - Date.parse(createdAt);
  return ageMs < 1 ? 0 : Math.min(Math.floor(Math.log2(ageMs)) + 1, agesMax);
}

export function bandOf(period: {
  readonly createdAt: string;
  readonly validFrom: string;
  readonly validTo: string | null;
}): number {
  const { createdAt, validFrom, validTo } = period;
  return validTo === null ? lasting + ageBand(createdAt, validFrom) : ageBand(createdAt, validTo);
}

/** A range of creation times. */
interface Range {
  readonly band: number;
  /** Inclusive. */
  readonly from: string;
  /** Exclusive, with the ID that follows in the list. */
  readonly before: ListCursor;
}

const firstId = '00000000-0000-0000-0000-000000000000';
const earliestMs = Date.parse('0001-01-01T00:00:00.000Z');

/** The ranges in which payments may qualify, by band, between the bounds of the filter and after the cursor. */
export function rangesAsOf(
  at: string,
  { createdFrom, createdTo }: Pick<PaymentFilter, 'createdFrom' | 'createdTo'>,
  after: ListCursor | undefined,
): readonly Range[] {
  const atMs = Date.parse(at);
  const range = (band: number, fromMs: number, toMs: number): readonly Range[] => {
    const from = new Date(Math.max(fromMs, earliestMs)).toISOString();
    const end = new Date(toMs + 1).toISOString();
    // The millisecond after the year 9999 has another form, which is not in order with the others.
    const upTo = createdTo === undefined || createdTo >= end ? end : next(createdTo);
    const before =
      after !== undefined && after.createdAt < upTo ? after : { createdAt: upTo, id: firstId };
    const since = createdFrom === undefined ? from : later(from, createdFrom);
    return before.createdAt < since ? [] : [{ band, from: since, before }];
  };
  const ages = Array.from({ length: agesMax + 1 }, (_, age) => age);
  return ages.flatMap((age) => [
    // It ended below this age: the payment was younger. The last band has no upper end.
    ...range(age, age === agesMax ? earliestMs : atMs - 2 ** age + 1, atMs),
    // It began at this age or later: the payment is at least as old.
    ...(atMs - beginOf(age) < earliestMs
      ? []
      : range(lasting + age, earliestMs, atMs - beginOf(age))),
  ]);
}

function beginOf(age: number): number {
  return age === 0 ? 0 : 2 ** (age - 1);
}

function next(at: string): string {
  return new Date(Date.parse(at) + 1).toISOString();
}

function later(one: string, other: string): string {
  return one > other ? one : other;
}

interface PeriodRow {
  readonly payment_id: string;
  readonly created_at: Date;
}

export function paymentPeriods(pool: pg.Pool): PaymentPeriods {
  return {
    async list(organizationId, asked, at, { limit, after }) {
      const { status, direction, paymentRail, originatorId, contactId, ...times } = asked;
      const { createdFrom, createdTo, ...others } = times;
      assertNoMore(others);
      const ranges = rangesAsOf(at, { createdFrom, createdTo }, after);
      const owner =
        contactId !== undefined
          ? 'contact_id'
          : originatorId !== undefined
            ? 'originator_id'
            : null;
      const values = [
        organizationId,
        limit + 1,
        at,
        status === undefined ? paymentStatuses : [status],
        direction === undefined ? directions : [direction],
        paymentRail === undefined ? paymentRails : [paymentRail],
        ranges.map(({ band }) => band),
        ranges.map(({ from }) => from),
        ranges.map(({ before }) => before.createdAt),
        ranges.map(({ before }) => before.id),
        ...(owner === null ? [] : [contactId ?? originatorId]),
      ];
      const { rows } = await orUnavailable(() =>
        pool.query<PeriodRow>({
          name: `payment_periods.${owner ?? 'all'}`,
          text: textOf(owner),
          values,
        }),
      );
      return pageOf(rows, limit, {
        item: (row) => row.payment_id,
        cursor: (row) => ({ createdAt: row.created_at.toISOString(), id: row.payment_id }),
      });
    },
  };
}

/** As in the indexes, which have no other column for these three. */
function hashOf(status: string, direction: string, rail: string): string {
  return `hashtext(${status} || ${direction} || ${rail})`;
}

/** Exported for the test of its plan. */
export function textOf(owner: 'contact_id' | 'originator_id' | null): string {
  const order = 'ORDER BY created_at DESC, payment_id DESC LIMIT $2';
  return `SELECT newest.* FROM unnest($4::text[]) AS each_status, unnest($5::text[]) AS each_direction,
      unnest($6::text[]) AS each_rail,
      unnest($7::smallint[], $8::timestamptz(3)[], $9::timestamptz(3)[], $10::uuid[])
        AS each_range(band, since, before_time, before_id),
      LATERAL (SELECT payment_id, created_at FROM payment_periods
        WHERE organization_id = $1 ${owner === null ? '' : `AND ${owner} = $11::uuid`}
          AND ${hashOf('status', 'direction', 'payment_rail')} = ${hashOf('each_status', 'each_direction', 'each_rail')}
          AND status = each_status AND direction = each_direction AND payment_rail = each_rail
          AND band = each_range.band AND created_at >= each_range.since
          AND (created_at, payment_id) < (each_range.before_time, each_range.before_id)
          AND valid_from <= $3::timestamptz(3) AND (valid_to IS NULL OR valid_to > $3::timestamptz(3))
        ${order}) AS newest
    ${order}`;
}
