import { maxAmountMinor } from '../payment/payment.js';
import {
  anything,
  type FeeRule,
  feeRulesMax,
  type FeeSchedule,
  feesOf,
  type Priced,
} from './fees.js';

const free: FeeSchedule = { discountBasisPoints: 0, flatFeeMinor: 0, returnFeeMinor: 0 };
const [one, other] = ['8b8f1a5e-originator-1', '8b8f1a5e-originator-2'];
const priced: Priced = {
  ...{ originatorId: one, rail: 'ACH', direction: 'OUTBOUND', amountMinor: 10_000 },
  at: '2026-06-15T12:00:00.000Z',
};
const rule = (changes: Partial<FeeRule>): FeeRule => ({ ...anything, ...free, ...changes });
/** The flat fees of the rules tell which one was taken. */
const taken = (rules: readonly FeeRule[], changes: Partial<Priced> = {}) =>
  feesOf({ feeSchedule: free, feeRules: rules }, { ...priced, ...changes }).flatFeeMinor;
const discountOf = (changes: Partial<FeeRule>, amountMinor: number) =>
  feesOf({ feeSchedule: free, feeRules: [rule(changes)] }, { ...priced, amountMinor })
    .discountFeeMinor;

describe('the discount fee', () => {
  it.each([
    // basis points, amount, fee: always rounded down, in the payer's favor.
    [0, 1, 0],
    [0, maxAmountMinor, 0],
    [1, 9_999, 0],
    [1, 10_000, 1],
    [1, 19_999, 1],
    [25, 399, 0],
    [25, 400, 1],
    [25, 125_000, 312],
    [9_999, 1, 0],
    [10_000, 1, 1],
    [10_000, maxAmountMinor, maxAmountMinor],
    [9_999, maxAmountMinor, 99_989_999_999],
    [3_333, maxAmountMinor, 33_329_999_999],
  ])('of %d basis points on %d is %d', (discountBasisPoints, amountMinor, fee) => {
    const schedule = { ...free, discountBasisPoints };
    expect(discountOf(schedule, amountMinor)).toBe(fee);
    const payment = { ...priced, amountMinor };
    const byCreation = feesOf({ feeSchedule: schedule, feeRules: null }, payment);
    expect(byCreation.discountFeeMinor).toBe(fee);
  });

  it('is at least the minimum and at most the cap', () => {
    const limits = { discountBasisPoints: 100, discountMinMinor: 50, discountCapMinor: 500 };
    expect(discountOf(limits, 1)).toBe(50);
    expect(discountOf(limits, 5_000)).toBe(50);
    expect(discountOf(limits, 5_100)).toBe(51);
    expect(discountOf(limits, 50_099)).toBe(500);
    expect(discountOf(limits, maxAmountMinor)).toBe(500);
    expect(discountOf({ ...limits, discountCapMinor: 50 }, 7_000)).toBe(50);
  });

  it('never exceeds the exact share, differs from it by less than a cent, and never shrinks as the amount grows', () => {
    const random = linear(20261123);
    for (let times = 0; times < 5_000; times += 1) {
      const basisPoints = random(10_001);
      const amount = 1 + random(maxAmountMinor);
      const fee = discountOf({ discountBasisPoints: basisPoints }, amount);
      expect(Number.isSafeInteger(fee)).toBe(true);
      const exact = BigInt(amount) * BigInt(basisPoints);
      const restTenThousandths = exact - BigInt(fee) * 10_000n;
      expect(restTenThousandths >= 0n && restTenThousandths < 10_000n).toBe(true);
      const more = discountOf({ discountBasisPoints: basisPoints }, amount + 1 + random(100));
      expect(more).toBeGreaterThanOrEqual(fee);
    }
  });

  it('is the share, or the limit that the share is beyond, whatever the limits are', () => {
    const random = linear(7);
    const met = { share: 0, minimum: 0, cap: 0 };
    for (let times = 0; times < 5_000; times += 1) {
      const discountBasisPoints = random(10_001);
      const amountMax = [100_000, 10_000_000, maxAmountMinor][random(3)] ?? 1;
      const amount = 1 + random(amountMax);
      const share = shareOf(amount, discountBasisPoints);
      const [low, high] = [random(amountMax), random(amountMax)].toSorted((a, b) => a - b);
      if (low === undefined || high === undefined) throw new Error('two limits');
      // Without a limit each fourth time.
      const discountMinMinor = random(4) === 0 ? null : low;
      const discountCapMinor = random(4) === 0 ? null : high;
      const isBelow = discountMinMinor !== null && share < discountMinMinor;
      const isAbove = discountCapMinor !== null && share > discountCapMinor;
      const expected = isBelow ? discountMinMinor : isAbove ? discountCapMinor : share;
      met[isBelow ? 'minimum' : isAbove ? 'cap' : 'share'] += 1;
      const limits = { discountBasisPoints, discountMinMinor, discountCapMinor };
      expect([limits, amount, discountOf(limits, amount)]).toEqual([limits, amount, expected]);
    }
    for (const times of Object.values(met)) expect(times).toBeGreaterThan(100);
  });
});

it('the flat and the return fee are as they stand, whatever the amount', () => {
  const schedule = { discountBasisPoints: 25, flatFeeMinor: 50, returnFeeMinor: 400 };
  expect(
    feesOf({ feeSchedule: schedule, feeRules: null }, { ...priced, amountMinor: 1 }),
  ).toStrictEqual({ discountFeeMinor: 0, flatFeeMinor: 50, returnFeeMinor: 400 });
});

describe('the rule that applies', () => {
  const byDirection = rule({ direction: 'OUTBOUND', flatFeeMinor: 1 });
  const byRail = rule({ rail: 'ACH', flatFeeMinor: 2 });
  const byBoth = rule({ rail: 'ACH', direction: 'OUTBOUND', flatFeeMinor: 3 });
  const byOriginator = rule({ originatorId: one, flatFeeMinor: 4 });
  const general = rule({ flatFeeMinor: 9 });
  const all = [general, byDirection, byRail, byBoth, byOriginator];

  it.each<[string, readonly FeeRule[], number]>([
    ['originator before anything else', all, 4],
    ['rail and direction before one of them', [general, byDirection, byRail, byBoth], 3],
    ['rail before direction', [general, byDirection, byRail], 2],
    ['direction before none', [general, byDirection], 1],
    ['one for everything', [general], 9],
    ['no rule, and then nothing is charged', [], 0],
  ])('is the most specific: %s', (_what, rules, expected) => {
    expect(taken(rules)).toBe(expected);
    expect(taken(rules.toReversed())).toBe(expected);
  });

  it('fits the payment in everything that it names', () => {
    expect(taken(all, { originatorId: other })).toBe(3);
    expect(taken(all, { originatorId: other, rail: 'RTP' })).toBe(1);
    expect(taken(all, { originatorId: other, rail: 'RTP', direction: 'INBOUND' })).toBe(9);
    expect(taken([byBoth], { direction: 'INBOUND' })).toBe(0);
  });

  it('is the latest of equals that is not in the future', () => {
    const since = (from: string | null, flatFeeMinor: number) => rule({ from, flatFeeMinor });
    const rules = [
      since('2026-06-15T12:00:00.001Z', 4),
      since('2026-01-01T00:00:00.000Z', 2),
      since(null, 1),
      since('2026-06-15T12:00:00.000Z', 3),
    ];
    expect(taken(rules)).toBe(3);
    expect(taken(rules, { at: '2026-06-15T12:00:00.001Z' })).toBe(4);
    expect(taken(rules, { at: '2026-06-15T11:59:59.999Z' })).toBe(2);
    expect(taken(rules, { at: '2025-12-31T23:59:59.999Z' })).toBe(1);
  });

  it('is the more specific one although another one is newer', () => {
    const newer = { ...general, from: '2026-06-01T00:00:00.000Z' };
    expect(taken([newer, byRail])).toBe(2);
  });

  it('does not depend on the order of the rules', () => {
    const random = linear(42);
    const rules = Array.from({ length: 60 }, (_, index) =>
      rule({
        originatorId: [null, one, other][random(3)] ?? null,
        rail: ([null, 'ACH', 'RTP'] as const)[random(3)] ?? null,
        direction: ([null, 'INBOUND', 'OUTBOUND'] as const)[random(3)] ?? null,
        from: new Date(Date.UTC(2026, 0, 1 + index)).toISOString(),
        flatFeeMinor: 1 + index,
      }),
    );
    const expected = taken(rules);
    for (let times = 0; times < 50; times += 1) {
      const shuffled = rules
        .map((one) => ({ one, key: random(1_000_000) }))
        .toSorted((a, b) => a.key - b.key)
        .map(({ one }) => one);
      expect(taken(shuffled)).toBe(expected);
    }
    expect(rules.length).toBeLessThanOrEqual(feeRulesMax);
  });
});

/** The digits of amount times basis points but the last four: a floor without any division. */
function shareOf(amountMinor: number, basisPoints: number): number {
  const product = (BigInt(amountMinor) * BigInt(basisPoints)).toString().padStart(5, '0');
  return Number(product.slice(0, -4));
}

/** Whole numbers below a bound, the same ones each time. */
function linear(seed: number): (below: number) => number {
  let state = BigInt(seed);
  return (below) => {
    state = (state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) % 2n ** 64n;
    return Number((state >> 16n) % BigInt(below));
  };
}
