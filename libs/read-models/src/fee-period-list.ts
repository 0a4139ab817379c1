/** Fee periods for staff: a list by status, and how old the collections are that have not come to an end. */
import type { FeePeriodStatus } from '@pis/domain';
import type pg from 'pg';
import { orUnavailable } from './or-unavailable.js';

export interface ListedFeePeriod {
  readonly feePeriodId: string;
  readonly organizationId: string;
  readonly originatorId: string;
  readonly year: number;
  readonly month: number;
  readonly totalMinor: number;
  readonly status: FeePeriodStatus;
  /** The last one. */
  readonly collectionId: string | null;
  readonly closedAt: Date;
  /** When staff were told the last time that the fees were debited twice. */
  readonly debitedTwiceAt: Date | null;
}

export interface FeePeriodFilter {
  readonly status?: FeePeriodStatus | undefined;
  readonly organizationId?: string | undefined;
  /** Only periods whose fees were debited twice. */
  readonly isDebitedTwice?: boolean | undefined;
}

/** A page, the newest month first. @throws StoreUnavailable */
export async function listFeePeriods(
  pool: pg.Pool,
  { status, organizationId, isDebitedTwice = false }: FeePeriodFilter,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<readonly ListedFeePeriod[]> {
  const { rows } = await orUnavailable(() =>
    pool.query<Omit<ListedFeePeriod, 'totalMinor'> & { readonly totalMinor: string }>(
      `SELECT fee_period_id AS "feePeriodId", organization_id AS "organizationId",
          originator_id AS "originatorId", year, month, status, collection_id AS "collectionId",
          discount_fee_minor + flat_fee_minor + return_fee_minor AS "totalMinor",
          closed_at AS "closedAt", debited_twice_at AS "debitedTwiceAt"
        FROM fee_periods
        WHERE ($1::text IS NULL OR status = $1) AND ($2::uuid IS NULL OR organization_id = $2)
          AND (NOT $3 OR debited_twice_at IS NOT NULL)
        ORDER BY year DESC, month DESC, fee_period_id OFFSET $4 LIMIT $5`,
      [status ?? null, organizationId ?? null, isDebitedTwice, offset, limit],
    ),
  );
  return rows.map((row) => ({ ...row, totalMinor: Number(row.totalMinor) }));
}

export interface CollectingSeconds {
  /** Of the oldest one that was not handed to a bank yet, or could not be created. 0: there is none. */
  readonly queued: number;
  /** Of the oldest one that a bank has, and has neither confirmed nor rejected. 0: there is none. */
  readonly sent: number;
}

/** The age of the collections that periods wait for. @throws StoreUnavailable */
export async function collectingSeconds(pool: pg.Pool, now: Date): Promise<CollectingSeconds> {
  const { rows } = await orUnavailable(() =>
    pool.query<CollectingSeconds>({
      name: 'fees.collectingSeconds',
      text: `SELECT ${oldest("coalesce(fee_collections.status, 'QUEUED') = 'QUEUED'")} AS queued,
          ${oldest("fee_collections.status IN ('PROCESSING', 'FAILED_IN_FLIGHT')")} AS sent
        FROM fee_periods LEFT JOIN fee_collections USING (collection_id)
        WHERE fee_periods.status = 'COLLECTING'`,
      values: [now],
    }),
  );
  const [ages] = rows;
  if (ages === undefined) throw new Error('the collections were not read');
  return ages;
}

/** A collection that is not created yet counts from the closing of its month. */
function oldest(condition: string): string {
  return `greatest(0, coalesce(extract(epoch FROM $1::timestamptz - 
      min(coalesce(fee_collections.created_at, fee_periods.closed_at))
    FILTER (WHERE ${condition})), 0))::float8`;
}
