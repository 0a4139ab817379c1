/** The sums of periods are those of an independent computation from the raw events, to the cent. */
import { jest } from '@jest/globals';
import { payment as payments } from '@pis/domain';
import { laterReturnExample } from '@pis/domain/testing';
import { type RecordedEvent, repository, systemContext } from '@pis/event-store';
import { feeWorld, type FeeWorld } from './testing/fee-world.js';

jest.setTimeout(240_000);

let world: FeeWorld;
beforeEach(async () => {
  world = await feeWorld('2026-08-31T12:00:00.000Z');
});
afterEach(() => world?.close());

/** mulberry32: the same numbers for the same seed, 0 to 1. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Fact {
  readonly originatorId: string;
  readonly amount: number;
  readonly at: number;
}

/** Every fee that became due, from the recorded data alone. */
function factsOf(events: readonly RecordedEvent[]): Fact[] {
  const first = new Map<string, Record<string, unknown>>();
  const facts: Fact[] = [];
  for (const { streamId, revision, type, data, metadata } of events) {
    if (!streamId.startsWith('payment-')) continue;
    if (revision === 0) first.set(streamId, data);
    const details = first.get(streamId) ?? {};
    const of = (...names: string[]) =>
      names.reduce((sum, name) => sum + Number(details[name] ?? NaN), 0);
    const originatorId = String(details['originatorId']);
    const at = Date.parse(metadata.at);
    if (type === 'PaymentCompleted')
      facts.push({ originatorId, at, amount: of('discountFeeMinor', 'flatFeeMinor') });
    if (type === 'PaymentReturned') facts.push({ originatorId, at, amount: of('returnFeeMinor') });
  }
  return facts;
}

// Daylight-saving time ends on 1 November in New York: both months end at another offset.
const ends = {
  9: Date.parse('2026-10-01T04:00:00.000Z'),
  10: Date.parse('2026-11-01T04:00:00.000Z'),
  11: Date.parse('2026-12-01T05:00:00.000Z'),
} as const;
const months = [9, 10, 11] as const;
const hourMs = 3_600_000;

it.each([1, 2, 3])(
  'whatever the payments, also around the ends of months (seed %i)',
  async (seed) => {
    const random = generator(seed);
    const below = (max: number) => Math.floor(random() * max);
    const originators = [await world.newOriginator(), await world.newOriginator()];
    const start = Date.parse('2026-09-02T00:00:00.000Z');
    const someTime = (after: number) => {
      const edge = ends[months[below(2)] ?? 9];
      const near = edge + below(4 * hourMs) - 2 * hourMs;
      const any = start + below(60 * 24) * hourMs;
      const chosen = random() < 0.5 ? near : any;
      return Math.max(chosen, after);
    };
    for (let count = 0; count < 60; count += 1) {
      const completed = someTime(start);
      const returned = someTime(completed);
      const isFailed = random() < 0.2;
      await world.pay({
        originatorId: originators[below(2)] ?? '',
        fees: {
          ...{ discountFeeMinor: below(1_000), flatFeeMinor: below(100) },
          returnFeeMinor: below(500),
        },
        ...(isFailed && { failedAt: new Date(completed).toISOString() }),
        ...(!isFailed && { completedAt: new Date(completed).toISOString() }),
        ...(!isFailed && random() < 0.4 && { returnedAt: new Date(returned).toISOString() }),
      });
    }
    for (const month of months) {
      world.setNow(new Date(ends[month] + hourMs).toISOString());
      await world.round();
    }
    const facts = factsOf((await world.store.readLog({ after: '', pageMax: 100_000 })).events);
    expect(facts.length).toBeGreaterThan(40);
    for (const originatorId of originators)
      for (const month of months) {
        const from = month === 9 ? 0 : ends[month === 10 ? 9 : 10];
        const due = facts
          .filter((fact) => fact.originatorId === originatorId)
          .filter(({ at }) => at >= from && at < ends[month])
          .reduce((sum, { amount }) => sum + amount, 0);
        const period = await world.periodOf(originatorId, { year: 2026, month });
        if (period === null) throw new Error('the period was not closed');
        const { discountFeeMinor, flatFeeMinor, returnFeeMinor, collections } = period;
        expect(discountFeeMinor + flatFeeMinor + returnFeeMinor).toBe(due);
        expect(collections).toHaveLength(due === 0 ? 0 : 1);
      }
  },
);

it('a payment that comes back in two parts, in two months, is charged one return fee', async () => {
  const originatorId = await world.newOriginator();
  const paymentId = await world.pay({
    ...{ originatorId, fees: { discountFeeMinor: 7, flatFeeMinor: 11, returnFeeMinor: 13 } },
    ...{ completedAt: '2026-09-10T12:00:00.000Z', returnedAt: '2026-09-20T12:00:00.000Z' },
  });
  const records = repository(world.store, payments);
  const again = { type: 'PaymentReturnedAgain', at: '2026-10-20T12:00:00.000Z' } as const;
  await records.append(
    paymentId,
    await records.load(paymentId),
    [{ ...again, data: laterReturnExample }],
    systemContext('test'),
  );
  for (const month of [9, 10] as const) {
    world.setNow(new Date(ends[month] + hourMs).toISOString());
    await world.round();
  }
  const [september, october] = [
    await world.periodOf(originatorId, { year: 2026, month: 9 }),
    await world.periodOf(originatorId, { year: 2026, month: 10 }),
  ];
  expect(september).toMatchObject({ returnFeeMinor: 13, paymentsReturned: 1 });
  expect(october).toMatchObject({ returnFeeMinor: 0, paymentsReturned: 0 });
});

it('late records and closings by hand lose nothing, and count nothing twice', async () => {
  const random = generator(7);
  const originatorId = await world.newOriginator();
  const zones = ['America/New_York', 'Asia/Tokyo', 'Pacific/Pago_Pago'];
  for (const month of [9, 10, 11, 12]) {
    for (let count = 0; count < 12; count += 1) {
      // In this month or the one before, which may be closed.
      const at = Date.UTC(2026, month - 1, 1) + Math.floor((random() * 56 - 28) * 24) * hourMs;
      const completedAt = new Date(Math.max(at, Date.UTC(2026, 8, 1, 12))).toISOString();
      const fees = { discountFeeMinor: 7, flatFeeMinor: 11, returnFeeMinor: 13 };
      await world.pay({ originatorId, fees, completedAt, returnedAt: completedAt });
      if (count === 6) {
        world.setNow(new Date(Date.UTC(2026, month - 1, 15)).toISOString());
        await world.caughtUp();
        const byHand = world.collector({ environment: 'sandbox' });
        await byHand.collectMonth({ year: 2026, month }, null);
      }
    }
    await world.setTimeZone(zones[month % zones.length] ?? 'UTC');
  }
  world.setNow('2027-02-03T00:00:00.000Z');
  await world.round();
  const facts = factsOf((await world.store.readLog({ after: '', pageMax: 100_000 })).events);
  const due = facts.reduce((sum, { amount }) => sum + amount, 0);
  let closed = 0;
  for (const month of [8, 9, 10, 11, 12, 13]) {
    const named = month === 13 ? { year: 2027, month: 1 } : { year: 2026, month };
    const period = await world.periodOf(originatorId, named);
    if (period === null) continue;
    closed += period.discountFeeMinor + period.flatFeeMinor + period.returnFeeMinor;
  }
  expect(facts).toHaveLength(96);
  expect(closed).toBe(due);
});
