/** Returns that name their amount: over SWIFT, banks on the way keep charges. */
import { randomUUID } from 'node:crypto';
import { type BankNotification, railReferenceOf } from '@pis/bank-rails';
import { payment as payments, type PaymentCommand, type PaymentRail } from '@pis/domain';
import { repository, systemContext } from '@pis/event-store';
import { reporting } from './testing/reporting.js';
import { openWorld, type World } from './testing/world.js';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const at = '2026-11-23T10:00:00.000Z';

/** A payment that the bank has. */
async function sent(paymentRail: PaymentRail = 'SWIFT', isConfirmed = true) {
  const { paymentId } = await world.queue('4321', 'OUTBOUND', paymentRail);
  const reference = railReferenceOf(paymentId);
  const commands: readonly PaymentCommand[] = [
    { type: 'ProcessPayment', at, data: { railReference: reference } },
    ...(isConfirmed ? [{ type: 'CompletePayment', at, data: {} } as const] : []),
  ];
  for (const command of commands)
    await repository(world.store, payments).execute(paymentId, command, systemContext('test'));
  const { amountMinor } = await world.payment(paymentId);
  return { paymentId, reference, amountMinor };
}

const of = (amountMinor: number, currencyCode = 'USD') => ({ amountMinor, currencyCode });

async function told(...reports: readonly Partial<BankNotification>[]): Promise<void> {
  const returns = reports.map((report) => ({ type: 'returned' as const, at, ...report }));
  await world.executor({ bank: reporting(world.bank, returns) }).feedRound();
}

async function returnsOf(paymentId: string) {
  const events = await world.store.readStream(`payment-${paymentId}`);
  return events.filter(({ type }) => type === 'PaymentReturned').map(({ data }) => data);
}

async function unmatched(): Promise<readonly string[]> {
  const { rows } = await world.pool.query<{ reason: string }>(
    'SELECT reason FROM rail_notifications ORDER BY sequence',
  );
  return rows.map(({ reason }) => reason);
}

it.each([
  ['confirmed', true],
  ['not confirmed yet', false],
])('what came back of a payment that was %s is recorded once', async (_state, isConfirmed) => {
  const { paymentId, reference, amountMinor } = await sent('SWIFT', isConfirmed);
  const back = { reference, returnReference: 'RTR1', returnedAmount: of(amountMinor - 1_500) };
  await told(back, back);
  expect(await returnsOf(paymentId)).toEqual([
    {
      ...{ returnReasonCode: null, returnReference: 'RTR1' },
      returnedAmountMinor: amountMinor - 1_500,
    },
  ]);
  expect(await world.payment(paymentId)).toMatchObject({ status: 'RETURNED', amountMinor });
  expect(await unmatched()).toEqual([]);
});

it.each(['SWIFT', 'FEDWIRE', 'ACH'] as const)(
  'over %s a return of the whole amount names none',
  async (rail) => {
    const { paymentId, reference, amountMinor } = await sent(rail);
    await told({ reference, returnReference: 'RTR1', returnedAmount: of(amountMinor) });
    expect(await returnsOf(paymentId)).toEqual([
      { returnReasonCode: null, returnReference: 'RTR1' },
    ]);
  },
);

it.each<[PaymentRail, string, (sent: number) => ReturnType<typeof of>, RegExp]>([
  ['SWIFT', 'nothing', () => of(0), /^a return of 0 over SWIFT, which moved \d+/],
  ['SWIFT', 'more than was sent', (all) => of(all + 1), /^a return of \d+ over SWIFT/],
  ['SWIFT', 'a part of a cent', (all) => of(all - 0.5), /^a return of [\d.]+ over SWIFT/],
  ['SWIFT', 'another currency', (all) => of(all, 'EUR'), /^a return in EUR of a payment in USD$/],
  ['FEDWIRE', 'less', (all) => of(all - 1), /^a return of \d+ over FEDWIRE/],
  ['ACH', 'less', (all) => of(all - 1), /^a return of \d+ over ACH/],
])('over %s, a return of %s is left to staff', async (rail, _what, amountOf, reason) => {
  const { paymentId, reference, amountMinor } = await sent(rail);
  await told({ reference, returnReference: 'RTR1', returnedAmount: amountOf(amountMinor) });
  expect(await world.payment(paymentId)).toMatchObject({ status: 'COMPLETED' });
  expect(await unmatched()).toEqual([expect.stringMatching(reason)]);
});

it.each<[string, (sent: number) => ReturnType<typeof of>, string]>([
  ['more than was sent', (all) => of(all + 1), 'a return of 12346 over SWIFT, which moved 12345'],
  ['another currency', (all) => of(all, 'EUR'), 'a return in EUR of a payment in USD'],
  // The records of the connection have another amount than the log.
  ['what was sent', of, 'a return of 12345 USD (minor units), which does not fit what'],
])('a return that its bank cannot have meant, of %s, says why', async (_what, amountOf, reason) => {
  const { paymentId, reference, amountMinor } = await sent();
  const returned = { reference, returnReference: 'RTR1', returnedAmount: amountOf(amountMinor) };
  const good = { reference, returnReference: 'RTR2', returnedAmount: of(amountMinor) };
  await told({ ...returned, type: 'unreadable' });
  expect(await world.payment(paymentId)).toMatchObject({ status: 'COMPLETED' });
  expect(await unmatched()).toEqual([expect.stringContaining(reason)]);
  // It holds up nothing.
  await told({ ...returned, type: 'unreadable' }, good);
  expect(await returnsOf(paymentId)).toMatchObject([{ returnReference: 'RTR2' }]);
});

it('a return that does not fit waits for its payment', async () => {
  const reference = railReferenceOf(randomUUID());
  const returned = { returnReference: 'RTR1', returnedAmount: of(1, 'EUR') };
  await told({ ...returned, reference, type: 'unreadable' });
  expect(await unmatched()).toEqual([expect.stringMatching(/^payment \S+ does not exist$/)]);
});

describe('after a return of less than was sent, another one', () => {
  const kept = 1_500;
  async function back() {
    const { paymentId, reference, amountMinor } = await sent();
    const returned = (returnReference: string, returnedAmount: ReturnType<typeof of>) => ({
      ...{ reference, returnReference, returnedAmount },
    });
    await told(returned('RTR1', of(amountMinor - kept)));
    const later = async () => (await world.payment(paymentId)).laterReturns;
    return { paymentId, reference, amountMinor, returned, later };
  }

  it('is recorded beside the first, once however often it is told', async () => {
    const { paymentId, amountMinor, returned, later } = await back();
    const [first, second] = [returned('RTR1', of(amountMinor - kept)), returned('RTR2', of(1_000))];
    const third = returned('RTR3', of(500));
    await told(first, second, second, first, third, second);
    expect(await returnsOf(paymentId)).toMatchObject([{ returnedAmountMinor: amountMinor - kept }]);
    expect(await later()).toEqual([
      { returnReasonCode: null, returnReference: 'RTR2', returnedAmountMinor: 1_000 },
      { returnReasonCode: null, returnReference: 'RTR3', returnedAmountMinor: 500 },
    ]);
    expect(await world.payment(paymentId)).toMatchObject({ status: 'RETURNED' });
    expect(await unmatched()).toEqual([]);
  });

  it.each<[string, ReturnType<typeof of>, string]>([
    ['more than was left', of(kept + 1), 'another return, RTR2, of 1501 USD (minor units)'],
    ['another currency', of(kept, 'EUR'), 'another return, RTR2, of 1500 EUR (minor units)'],
    ['nothing', of(0), 'another return, RTR2, of 0 USD (minor units)'],
  ])('of %s is left to staff', async (_what, amount, reason) => {
    const { returned, later } = await back();
    await told(returned('RTR1', of(1)), returned('RTR2', amount));
    expect(await later()).toEqual([]);
    expect(await unmatched()).toEqual([`${reason}, after RTR1`]);
  });

  it('without a reference of its own is left to staff', async () => {
    const { reference, returned, later } = await back();
    await told(returned('RTR1', of(1)), { reference, returnedAmount: of(1_000) });
    expect(await later()).toEqual([]);
    expect(await unmatched()).toHaveLength(1);
  });

  it.each<[string, string, (first: number) => ReturnType<typeof of>]>([
    ['the first one with another amount', 'RTR1', (first) => of(first + 1)],
    ['the first one in another currency', 'RTR1', (first) => of(first, 'EUR')],
    ['a later one with another amount', 'RTR2', () => of(999)],
  ])('under the reference of %s is left to staff', async (_which, reference, amountOf) => {
    const { paymentId, amountMinor, returned, later } = await back();
    const [first, second] = [returned('RTR1', of(amountMinor - kept)), returned('RTR2', of(1_000))];
    await told(first, second, returned(reference, amountOf(amountMinor - kept)));
    expect(await returnsOf(paymentId)).toMatchObject([{ returnedAmountMinor: amountMinor - kept }]);
    expect(await later()).toMatchObject([{ returnedAmountMinor: 1_000 }]);
    expect(await unmatched()).toEqual([
      expect.stringMatching(`^return ${reference} again, of \\d+ .+, after`),
    ]);
  });

  it('that an earlier release left to staff is recorded when it is tried again', async () => {
    const { reference, later } = await back();
    await world.pool.query(
      `INSERT INTO rail_notifications (feed, sequence, reference, type, at, detail, received_at, reason, contradicts)
        SELECT feed, '9', $1, 'returned', now(), $2, now(), 'another return', true FROM rail_feed_checkpoint`,
      [reference, JSON.stringify({ returnReference: 'RTR2', returnedAmount: of(1_000) })],
    );
    await world.pool.query(
      `INSERT INTO rail_notified_references (feed, reference, since, due_at, tries)
        SELECT feed, $1, now(), now(), 3 FROM rail_feed_checkpoint`,
      [reference],
    );
    await told();
    expect(await later()).toMatchObject([{ returnReference: 'RTR2', returnedAmountMinor: 1_000 }]);
    expect(await unmatched()).toEqual([]);
  });
});

it('a second return after one of the whole amount is left to staff', async () => {
  const { paymentId, reference, amountMinor } = await sent();
  const returned = { reference, returnedAmount: of(amountMinor) };
  await told({ ...returned, returnReference: 'RTR1' }, { ...returned, returnReference: 'RTR2' });
  expect(await returnsOf(paymentId)).toHaveLength(1);
  expect(await unmatched()).toEqual([
    'another return, RTR2, of 12345 USD (minor units), after RTR1',
  ]);
});

it('a second return of an ACH payment, which names no amount, is left to staff', async () => {
  const { paymentId, reference } = await sent('ACH');
  const first = { reference, returnReasonCode: 'R01', returnReference: '011000130000001' };
  const second = { ...first, returnReference: '011000130000002' };
  await told(first, first, { ...first, returnReference: null }, second);
  expect(await returnsOf(paymentId)).toHaveLength(1);
  expect(await unmatched()).toEqual([
    'another return, 011000130000002, of the whole amount, after 011000130000001',
  ]);
});

it('a return of an older event, told again, changes nothing', async () => {
  const { paymentId, reference, amountMinor } = await sent();
  const older = { type: 'ReturnPayment', at, data: { returnReasonCode: null } } as const;
  await repository(world.store, payments).execute(paymentId, older, systemContext('test'));
  await told({ reference, returnReference: 'RTR1', returnedAmount: of(amountMinor - 1_500) });
  expect(await returnsOf(paymentId)).toEqual([{ returnReasonCode: null }]);
  expect(await unmatched()).toEqual([]);
});
