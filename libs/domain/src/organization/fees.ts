/**
 * What payments cost. An organization has fee rules; the one that fits a payment best sets its fees when it is created.
 * Fees are collected apart from payments (rule service-9).
 */
import { type Direction, directions } from '../payment/payment-details.js';
import { type PaymentRail, paymentRails } from '../payment/payment-rail.js';

export interface FeeSchedule {
  /** Share of the amount in hundredths of a percent, 0 to 10,000; the fee is rounded down. */
  readonly discountBasisPoints: number;
  readonly flatFeeMinor: number;
  readonly returnFeeMinor: number;
}

/** Null: whatever it is, or without such a limit. */
export interface FeeRule extends FeeSchedule {
  readonly originatorId: string | null;
  readonly rail: PaymentRail | null;
  readonly direction: Direction | null;
  /** For payments that are created from then on, ISO 8601 with milliseconds, UTC. */
  readonly from: string | null;
  /** The discount fee is at least this. */
  readonly discountMinMinor: number | null;
  /** And at most this. Not less than discountMinMinor. */
  readonly discountCapMinor: number | null;
}

/** Each payment looks at all of them, and each event holds all of them. */
export const feeRulesMax = 1_000;

export interface Priced {
  readonly originatorId: string;
  readonly rail: PaymentRail;
  readonly direction: Direction;
  readonly amountMinor: number;
  /** When the payment is created, ISO 8601. */
  readonly at: string;
}

export interface Fees {
  readonly discountFeeMinor: number;
  readonly flatFeeMinor: number;
  readonly returnFeeMinor: number;
}

/** Of a payment that no rule fits. */
const noFees: Fees = { discountFeeMinor: 0, flatFeeMinor: 0, returnFeeMinor: 0 };

/** The fees of one payment in minor units, by what is in force when it is created. */
export function feesOf(
  {
    feeSchedule,
    feeRules,
  }: { readonly feeSchedule: FeeSchedule; readonly feeRules: readonly FeeRule[] | null },
  payment: Priced,
): Fees {
  if (feeRules === null) return feesBy({ ...anything, ...feeSchedule }, payment.amountMinor);
  const rule = feeRules
    .filter((one) => fits(one, payment))
    .reduce<FeeRule | null>((best, one) => (best && !isBefore(best, one) ? best : one), null);
  return rule === null ? noFees : feesBy(rule, payment.amountMinor);
}

/** A rule that a schedule of the creation amounts to. */
export const anything = {
  ...{ originatorId: null, rail: null, direction: null, from: null },
  ...{ discountMinMinor: null, discountCapMinor: null },
} as const;

function fits(rule: FeeRule, { originatorId, rail, direction, at }: Priced): boolean {
  return (
    (rule.originatorId ?? originatorId) === originatorId &&
    (rule.rail ?? rail) === rail &&
    (rule.direction ?? direction) === direction &&
    startOf(rule) <= Date.parse(at)
  );
}

/** Whether `next` wins: it is more specific, or as specific and of a later date. */
function isBefore(best: FeeRule, next: FeeRule): boolean {
  const [weight, nextWeight] = [weightOf(best), weightOf(next)];
  return weight === nextWeight ? startOf(best) < startOf(next) : weight < nextWeight;
}

/** An originator counts more than a rail, and a rail more than a direction. */
function weightOf({ originatorId, rail, direction }: FeeRule): number {
  return (originatorId === null ? 0 : 4) + (rail === null ? 0 : 2) + (direction === null ? 0 : 1);
}

function startOf({ from }: FeeRule): number {
  return from === null ? -Infinity : Date.parse(from);
}

function feesBy(rule: FeeRule, amountMinor: number): Fees {
  const { discountMinMinor, discountCapMinor, flatFeeMinor, returnFeeMinor } = rule;
  // In BigInt: amount times basis points can exceed what a double holds exactly.
  const share = Number((BigInt(amountMinor) * BigInt(rule.discountBasisPoints)) / 10_000n);
  const discountFeeMinor = Math.min(
    Math.max(share, discountMinMinor ?? 0),
    discountCapMinor ?? Infinity,
  );
  return { discountFeeMinor, flatFeeMinor, returnFeeMinor };
}

/** Two rules for the same payments from the same time: the later of both; -1 without such a pair. */
export function repeatedRule(rules: readonly FeeRule[]): number {
  const seen = new Set<string>();
  return rules.findIndex((rule) => {
    const { originatorId, rail, direction } = rule;
    const key = JSON.stringify([originatorId, rail, direction, startOf(rule)]);
    const isRepeated = seen.has(key);
    seen.add(key);
    return isRepeated;
  });
}

/** The sender of the command has checked it. Once written, a bad schedule would fail every payment. */
export function assertFeeSchedule(schedule: FeeSchedule): void {
  const { discountBasisPoints, flatFeeMinor, returnFeeMinor } = schedule;
  const areAmounts = [discountBasisPoints, flatFeeMinor, returnFeeMinor].every(isAmount);
  if (!areAmounts || discountBasisPoints > 10_000)
    throw new RangeError(`not a fee schedule: ${JSON.stringify(schedule)}`);
}

export function assertFeeRules(rules: readonly FeeRule[]): void {
  rules.forEach(assertFeeSchedule);
  const isSound = ({ rail, direction, from, discountMinMinor, discountCapMinor }: FeeRule) =>
    (rail === null || paymentRails.includes(rail)) &&
    (direction === null || directions.includes(direction)) &&
    (from === null || Number.isFinite(Date.parse(from))) &&
    [discountMinMinor ?? 0, discountCapMinor ?? 0].every(isAmount) &&
    (discountMinMinor ?? 0) <= (discountCapMinor ?? Infinity);
  if (rules.length > feeRulesMax || !rules.every(isSound) || repeatedRule(rules) !== -1)
    throw new RangeError('not fee rules');
}

function isAmount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
