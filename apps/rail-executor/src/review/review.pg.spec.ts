/** The rules of the review, with daily limits on a real database. */
import { randomUUID } from 'node:crypto';
import type { TransferInstruction } from '@pis/bank-rails';
import { instructionEnding } from '@pis/bank-rails/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { DailyTotals } from './daily-totals.js';
import { NameList, namesIn } from './name-list.js';
import { Review } from './review.js';
import { reviewRulesSchema, type ReviewRulesInput } from './review-rules.js';
import { sandboxRules } from './sandbox-rules.js';

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 8);
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const sanctions = new NameList(namesIn('7;MORIARTY, James'));

function reviewBy(input: ReviewRulesInput): Review {
  const rules = reviewRulesSchema.parse(input);
  const lists = new Map([['sanctions', sanctions]]);
  return new Review({ rules, lists, totals: new DailyTotals(pool) });
}

const rule = (when: ReviewRuleInput['when']): ReviewRulesInput => ({
  lists: { sanctions: { file: 'unused' } },
  rules: [{ name: 'the-rule', when, then: 'block' }],
});
type ReviewRuleInput = NonNullable<ReviewRulesInput['rules']>[number];

const payment = (changes: Partial<TransferInstruction> = {}) =>
  instructionEnding('4321', { originatorId: randomUUID(), contactId: randomUUID(), ...changes });

describe('a rule', () => {
  it.each<[ReviewRuleInput['when'], Partial<TransferInstruction>, Partial<TransferInstruction>]>([
    [{ amountAbove: 12_344 }, {}, { amountMinor: 12_344 }],
    [{ direction: 'INBOUND' }, { direction: 'INBOUND' }, {}],
    [{ rails: ['RTP', 'FEDNOW'] }, { rail: 'RTP' }, {}],
    [{ routingNumbers: ['011000138'], amountAbove: 1 }, {}, { amountMinor: 1 }],
    [{ nameOn: { list: 'sanctions' } }, { contactName: 'James Moriarty' }, {}],
    [{ nameOn: { list: 'sanctions' } }, { originatorName: 'Jámes  MORIARTI' }, {}],
    [
      { nameOn: { list: 'sanctions', party: 'contact' } },
      { contactName: 'James Moriarty' },
      { originatorName: 'James Moriarty' },
    ],
  ])('with %j blocks a payment only when all conditions hold', async (when, matching, other) => {
    const review = reviewBy(rule(when));
    expect(await review.of(payment(matching))).toMatchObject({
      outcome: 'blocked',
      block: { rules: ['the-rule'] },
    });
    expect(await review.of(payment(other))).toEqual({ outcome: 'clear' });
  });

  it.each<[Partial<TransferInstruction>, Partial<TransferInstruction>]>([
    [{ rail: 'ACH', contactName: `James Moriarty ${'. '.repeat(9)}${'Harmless '.repeat(9)}` }, {}],
    [
      { rail: 'RTP', originatorName: `James Moriarty ${'.'.repeat(140)} ${'Harmless '.repeat(9)}` },
      { rail: 'RTP', originatorName: `James Moriarty ${'Harmless '.repeat(9)}` },
    ],
  ])(
    'with a list of names finds the part that the bank gets of a long one, of %j',
    async (long, other) => {
      const review = reviewBy(rule({ nameOn: { list: 'sanctions' } }));
      expect((await review.of(payment(long))).outcome).toBe('blocked');
      expect((await review.of(payment(other))).outcome).toBe('clear');
    },
  );

  it('gives its reasons to the party that they are about', async () => {
    const review = reviewBy(rule({ amountAbove: 1, nameOn: { list: 'sanctions' } }));
    const instruction = payment({ contactName: 'James Moriarty' });
    expect(await review.of(instruction)).toEqual({
      outcome: 'blocked',
      block: {
        rules: ['the-rule'],
        reasons: ['the amount 12345 is above 1'],
        contact: {
          id: instruction.contactId,
          reasons: ['the name is 1.00 like "MORIARTY, James" (7 of sanctions)'],
        },
      },
    });
  });

  it('decides when it is the first that matches', async () => {
    const when = { amountAbove: 1 };
    const review = reviewBy({
      rules: [
        { name: 'first', when, then: 'hold' },
        { name: 'second', when, then: 'block' },
      ],
    });
    expect(await review.of(payment())).toEqual({ outcome: 'hold', rule: 'first' });
  });
});

describe('a daily limit', () => {
  const daily = reviewRulesSchema.parse(rule({ originatorDailyTotalAbove: 30_000 }));

  it('counts the payments that were let through, each once, in every process', async () => {
    const review = reviewBy(daily);
    const restarted = reviewBy(daily);
    const originatorId = randomUUID();
    const [first, second] = [payment({ originatorId }), payment({ originatorId })];
    for (const instruction of [first, first, second, first, second])
      expect(await review.of(instruction)).toEqual({ outcome: 'clear' });
    const third = payment({ originatorId });
    for (const process of [review, restarted])
      expect(await process.of(third)).toEqual({
        outcome: 'blocked',
        block: { rules: ['the-rule'], reasons: ['above the daily limit of the originator'] },
      });
    // What was blocked does not count.
    expect(await restarted.of(payment({ originatorId, amountMinor: 5_000 }))).toEqual({
      outcome: 'clear',
    });
    expect(await review.of(payment())).toEqual({ outcome: 'clear' });
  });

  it('is never exceeded by payments at the same time', async () => {
    const reviews = [reviewBy(daily), reviewBy(daily), reviewBy(daily)];
    const originatorId = randomUUID();
    const admitted = (review: Review) => {
      const many = Array.from({ length: 10 }, () => payment({ originatorId, amountMinor: 10_000 }));
      return many.map((instruction) => review.of(instruction));
    };
    const results = await Promise.all(reviews.flatMap(admitted));
    expect(results.filter((result) => result.outcome === 'clear')).toHaveLength(3);
  });

  it('of a rule counts only what meets the other conditions, for each party apart', async () => {
    const review = reviewBy(
      rule({ direction: 'INBOUND', contactDailyCountAbove: 1, originatorDailyCountAbove: 2 }),
    );
    const [originatorId, contactId] = [randomUUID(), randomUUID()];
    const inbound = { originatorId, direction: 'INBOUND' } as const;
    expect(await review.of(payment({ originatorId, contactId }))).toEqual({ outcome: 'clear' });
    expect(await review.of(payment({ ...inbound, contactId }))).toEqual({ outcome: 'clear' });
    expect(await review.of(payment({ ...inbound, contactId }))).toMatchObject({
      block: { reasons: ['above the daily limit of the contact'] },
    });
    expect(await review.of(payment(inbound))).toEqual({ outcome: 'clear' });
    expect(await review.of(payment(inbound))).toMatchObject({
      block: { reasons: ['above the daily limit of the originator'] },
    });
  });

  it('forgets the counts of former days', async () => {
    await pool.query(
      `UPDATE rail_review_totals SET day = day - 30; UPDATE rail_review_payments SET day = day - 30`,
    );
    expect(await reviewBy(daily).of(payment())).toEqual({ outcome: 'clear' });
    for (const table of ['rail_review_totals', 'rail_review_payments']) {
      const { rows } = await pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`);
      expect(rows).toEqual([{ n: 1 }]);
    }
  });
});

describe('the rules of the sandbox', () => {
  it.each([
    ['0201', { outcome: 'rejected', rejection: { failureCode: 'INVALID_CONTACT_DATA' } }],
    ['0202', { outcome: 'rejected', rejection: { failureCode: 'INVALID_ORIGINATOR_DATA' } }],
    ['0203', { outcome: 'rejected', rejection: { failureCode: 'INTERNAL_ERROR' } }],
    ['0301', { outcome: 'blocked' }],
    ['0501', { outcome: 'hold' }],
    ['0204', { outcome: 'clear' }],
    ['4321', { outcome: 'clear' }],
  ])('give %s its outcome', async (ending, expected) => {
    expect(await reviewBy(sandboxRules).of(instructionEnding(ending))).toMatchObject(expected);
  });
});

describe('rules that cannot be used', () => {
  it.each([
    ['no condition', { rules: [{ name: 'a', when: {}, then: 'block' }] }],
    ['an unknown condition', { rules: [{ name: 'a', when: { colour: 1 }, then: 'block' }] }],
    ['an unknown outcome', { rules: [{ name: 'a', when: { amountAbove: 1 }, then: 'release' }] }],
    ['no message', { rules: [{ name: 'a', when: { amountAbove: 1 }, then: 'reject' }] }],
    ['an unknown list', { rules: [{ name: 'a', when: { nameOn: { list: 'x' } }, then: 'block' }] }],
    [
      'one name twice',
      {
        rules: ['a', 'a'].map((name) => ({ name, when: { amountAbove: 1 }, then: 'block' })),
      },
    ],
  ])('because of %s are refused', (_why, rules) => {
    expect(reviewRulesSchema.safeParse(rules).success).toBe(false);
  });
});
