/** What a fee period has counted, and up to where. */
import type { Month } from '../calendar/month.js';

/** What has happened before both: `to` is exclusive, and the position in the log is included. */
export interface FeeCutoff {
  /** ISO 8601. */
  readonly to: string;
  readonly upTo: string;
}

export interface FeeSums {
  /** Of payments that were completed. Minor units. */
  readonly discountFeeMinor: number;
  /** Of payments that were completed. */
  readonly flatFeeMinor: number;
  /** Of payments that were returned. */
  readonly returnFeeMinor: number;
  readonly paymentsCompleted: number;
  readonly paymentsReturned: number;
}

export interface FeePeriodRecord extends Month, FeeCutoff, FeeSums {
  readonly feePeriodId: string;
  readonly organizationId: string;
  readonly originatorId: string;
  /** By which the month ended. */
  readonly timeZone: string;
  /** Of the period before: what it has counted is not counted again. Null for the first period of an originator. */
  readonly after: FeeCutoff | null;
}

export function feesDueMinor({ discountFeeMinor, flatFeeMinor, returnFeeMinor }: FeeSums): number {
  return discountFeeMinor + flatFeeMinor + returnFeeMinor;
}

/** The sender of the command has computed it. Once written, a bad sum would be debited. */
export function assertRecord(record: FeePeriodRecord): void {
  const { discountFeeMinor, flatFeeMinor, returnFeeMinor, after, to, upTo } = record;
  const { paymentsCompleted, paymentsReturned } = record;
  const counts = [discountFeeMinor, flatFeeMinor, returnFeeMinor, feesDueMinor(record)];
  const areCounts = [...counts, paymentsCompleted, paymentsReturned].every(
    (value) => Number.isSafeInteger(value) && value >= 0,
  );
  const isLater = after === null || (after.to < to && after.upTo <= upTo);
  if (!areCounts || !isLater) throw new RangeError('not a fee period');
}
