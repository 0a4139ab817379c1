/** Fee schedules as operators write and see them. Amounts are cents. */
import {
  anything,
  directions,
  type FeeRule,
  feeRulesMax,
  type FeeSchedule,
  maxAmountMinor,
  paymentRails,
  repeatedRule,
} from '@pis/domain';
import { z } from 'zod';
import { uuid } from './fields.js';

export interface FeeScheduleView {
  readonly originatorId?: string;
  readonly rail?: FeeRule['rail'] & string;
  readonly direction?: FeeRule['direction'] & string;
  /** ISO 8601. */
  readonly from?: string;
  readonly discountFeeBasisPoints: number;
  readonly discountFeeMin?: number;
  readonly discountFeeCap?: number;
  readonly flatFee: number;
  readonly returnFee: number;
}

export interface FeeSchedulesView {
  readonly schedules: readonly FeeScheduleView[];
}

const basisPointsMax = 10_000;
const whole = z.number().refine(Number.isSafeInteger, 'validation_integer').min(0);
/** No fee is above what a payment may move: a month's sum stays exact. */
const amount = whole.max(maxAmountMinor);
/** A date begins in UTC. A time names its zone, or it would be another one on another machine. */
const from = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })], { error: 'validation_datetime' })
  .transform((text) => new Date(text).toISOString());
const absent = null;

const schedule = z
  .strictObject(
    {
      originatorId: uuid.nullish(),
      rail: z.enum(paymentRails).nullish(),
      direction: z.enum(directions).nullish(),
      from: from.nullish(),
      discountFeeBasisPoints: whole.max(basisPointsMax),
      discountFeeMin: amount.nullish(),
      discountFeeCap: amount.nullish(),
      flatFee: amount,
      returnFee: amount,
    },
    { error: strange('a fee schedule') },
  )
  .superRefine(({ discountFeeMin, discountFeeCap }, context) => {
    if ((discountFeeMin ?? 0) > (discountFeeCap ?? Infinity))
      context.addIssue({ code: 'custom', path: ['discountFeeCap'], message: 'validation_min' });
  })
  .transform(
    (given): FeeRule => ({
      originatorId: given.originatorId ?? absent,
      rail: given.rail ?? absent,
      direction: given.direction ?? absent,
      from: given.from ?? absent,
      discountBasisPoints: given.discountFeeBasisPoints,
      discountMinMinor: given.discountFeeMin ?? absent,
      discountCapMinor: given.discountFeeCap ?? absent,
      flatFeeMinor: given.flatFee,
      returnFeeMinor: given.returnFee,
    }),
  );

/** A misspelled name is refused: it would ask for other fees than were meant. */
export const feeSchedulesSchema = z
  .strictObject(
    { schedules: z.array(schedule).max(feeRulesMax) },
    { error: strange('a file of fee schedules') },
  )
  .superRefine(({ schedules }, context) => {
    const at = repeatedRule(schedules);
    if (at !== -1)
      context.addIssue({
        code: 'custom',
        path: ['schedules', at],
        message: 'is for the same payments from the same time as an earlier one',
      });
  });

function strange(what: string): (issue: { readonly code?: string }) => string | undefined {
  return ({ code }) =>
    code === 'unrecognized_keys' ? `has fields that ${what} does not have` : undefined;
}

/** Those in force: the rules, or the schedule of the organization's creation. */
export function feeSchedulesView({
  feeRules,
  feeSchedule,
}: {
  readonly feeRules: readonly FeeRule[] | null;
  readonly feeSchedule: FeeSchedule;
}): FeeSchedulesView {
  return { schedules: (feeRules ?? [{ ...anything, ...feeSchedule }]).map(scheduleView) };
}

function scheduleView(rule: FeeRule): FeeScheduleView {
  const { originatorId, rail, direction, from, discountMinMinor, discountCapMinor } = rule;
  return {
    ...(originatorId !== null && { originatorId }),
    ...(rail !== null && { rail }),
    ...(direction !== null && { direction }),
    ...(from !== null && { from }),
    discountFeeBasisPoints: rule.discountBasisPoints,
    ...(discountMinMinor !== null && { discountFeeMin: discountMinMinor }),
    ...(discountCapMinor !== null && { discountFeeCap: discountCapMinor }),
    flatFee: rule.flatFeeMinor,
    returnFee: rule.returnFeeMinor,
  };
}
