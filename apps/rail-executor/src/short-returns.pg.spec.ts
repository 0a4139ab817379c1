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

it('a second return for the rest is left to staff, and the first one stays as it is', async () => {
  const { paymentId, reference, amountMinor } = await sent();
  const first = { reference, returnReference: 'RTR1', returnedAmount: of(amountMinor - 1_500) };
  await told(first, { reference, returnReference: 'RTR2', returnedAmount: of(1_500) });
  expect(await returnsOf(paymentId)).toMatchObject([{ returnedAmountMinor: amountMinor - 1_500 }]);
  expect(await unmatched()).toEqual([
    'another return, RTR2, of 1500 USD (minor units), after RTR1',
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
