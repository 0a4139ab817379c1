/**
 * The rules of the automated review, as they are written in PIS_REVIEW_RULES_FILE. All conditions of a rule
 * must hold for it to match. The first rule that matches decides. A payment that no rule matches is clear.
 * Rules with daily limits come last, whatever their place: only payments that are let through count.
 */
import { directions, failureCodes, paymentRails } from '@pis/domain';
import { z } from 'zod';

const rulesMax = 500;
const listsMax = 20;
const routingNumbersMax = 10_000;
const textMax = 300;
const digits = (min: number, max: number) =>
  z
    .string()
    .regex(new RegExp(`^\\d{${min},${max}}$`), `must be ${min} to ${max} digits, in quotes`);
const name = z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be 1 to 64 of a-z 0-9 -');
const cents = z.int().nonnegative();
const count = z.int().nonnegative();

const when = z
  .strictObject({
    direction: z.enum(directions).optional(),
    rails: z.array(z.enum(paymentRails)).min(1).optional(),
    contactAccountEndsWith: digits(1, 17).optional(),
    /** The contact's. */
    routingNumbers: z.array(digits(9, 9)).min(1).max(routingNumbersMax).optional(),
    /** Cents. */
    amountAbove: cents.optional(),
    nameOn: z
      .strictObject({
        list: name,
        party: z.enum(['originator', 'contact', 'either']).default('either'),
        /** From 0.5 up to 1, which is the same name. */
        score: z.number().min(0.5).max(1).default(0.9),
      })
      .optional(),
    /** Of the payments of one day that meet the other conditions, this one included. */
    originatorDailyTotalAbove: cents.optional(),
    originatorDailyCountAbove: count.optional(),
    contactDailyTotalAbove: cents.optional(),
    contactDailyCountAbove: count.optional(),
  })
  .refine((conditions) => Object.keys(conditions).length > 0, 'needs a condition');

const rejection = z.strictObject({
  failureCode: z.enum(failureCodes),
  field: z.string().min(1).max(textMax).nullable().default(null),
  message: z.string().min(1).max(textMax),
  reason: z.string().min(1).max(textMax).optional(),
});

const rule = z.discriminatedUnion('then', [
  /** BLOCKED, and never released. */
  z.strictObject({ name, when, then: z.literal('block') }),
  /** Stays QUEUED while the rule matches. */
  z.strictObject({ name, when, then: z.literal('hold') }),
  /** FAILED. */
  z.strictObject({ name, when, then: z.literal('reject'), rejection }),
]);

export const reviewRulesSchema = z
  .strictObject({
    lists: z
      .record(name, z.strictObject({ file: z.string().min(1) }))
      .refine((lists) => Object.keys(lists).length <= listsMax, `at most ${listsMax} lists`)
      .default({}),
    rules: z.array(rule).max(rulesMax).default([]),
  })
  .superRefine(({ lists, rules }, context) => {
    const names = new Set<string>();
    for (const [index, { name: ruleName, when: conditions }] of rules.entries()) {
      if (names.has(ruleName))
        context.addIssue({
          code: 'custom',
          path: ['rules', index, 'name'],
          message: 'another rule has this name',
        });
      names.add(ruleName);
      const list = conditions.nameOn?.list;
      if (list !== undefined && !Object.hasOwn(lists, list))
        context.addIssue({
          code: 'custom',
          path: ['rules', index, 'when', 'nameOn', 'list'],
          message: 'is none of the lists',
        });
    }
  });

export type ReviewRules = z.output<typeof reviewRulesSchema>;
export type ReviewRulesInput = z.input<typeof reviewRulesSchema>;
export type ReviewRule = ReviewRules['rules'][number];
export type Conditions = ReviewRule['when'];

/** The daily limits of a rule for one party. */
export interface DailyLimits {
  readonly party: 'originator' | 'contact';
  readonly totalMax: number | null;
  readonly countMax: number | null;
}

export function dailyLimitsOf(conditions: Conditions): readonly DailyLimits[] {
  const limits: readonly DailyLimits[] = [
    {
      party: 'originator',
      totalMax: conditions.originatorDailyTotalAbove ?? null,
      countMax: conditions.originatorDailyCountAbove ?? null,
    },
    {
      party: 'contact',
      totalMax: conditions.contactDailyTotalAbove ?? null,
      countMax: conditions.contactDailyCountAbove ?? null,
    },
  ];
  return limits.filter(({ totalMax, countMax }) => totalMax !== null || countMax !== null);
}
