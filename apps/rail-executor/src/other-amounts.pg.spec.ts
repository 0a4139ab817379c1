/**
 * What the bank reports of a transfer with another amount than the payment has. The log was restored without the payment,
 * and a client has created it again, under its key, with another amount.
 */
import { type BankNotification, railReferenceOf } from '@pis/bank-rails';
import { payment as payments, type PaymentCommand } from '@pis/domain';
import { repository, systemContext } from '@pis/event-store';
import { reporting } from './testing/reporting.js';
import { openWorld, type World } from './testing/world.js';

let world: World;
beforeEach(async () => {
  world = await openWorld({ confirmationTimeoutMs: 60_000 });
});
afterEach(() => world.close());

const at = '2026-11-23T10:00:00.000Z';
const otherAmount = 54_321;

const begun = {
  PROCESSING: [],
  FAILED_IN_FLIGHT: [{ type: 'FailPaymentInFlight', at, data: { failureReason: 'It is late.' } }],
  COMPLETED: [{ type: 'CompletePayment', at, data: {} }],
} as const satisfies Record<string, readonly PaymentCommand[]>;
type Begun = keyof typeof begun;

async function begin(paymentId: string, status: Begun) {
  const reference = railReferenceOf(paymentId);
  const claim: PaymentCommand = { type: 'ProcessPayment', at, data: { railReference: reference } };
  for (const command of [claim, ...begun[status]])
    await repository(world.store, payments).execute(paymentId, command, systemContext('test'));
  return { paymentId, reference, before: await world.history(paymentId) };
}

async function sent(status: Begun = 'PROCESSING') {
  const { paymentId } = await world.queue('4321');
  return begin(paymentId, status);
}

/** Is told more than once: what is kept is tried again. */
async function told(...reports: readonly Partial<BankNotification>[]): Promise<void> {
  const executor = world.executor({ bank: reporting(world.bank, reports) });
  await executor.feedRound();
  await world.makeNotificationsDue();
  await executor.feedRound();
}

async function unmatched() {
  const { rows } = await world.pool.query<{ type: string; reason: string }>(
    'SELECT type, reason FROM rail_notifications ORDER BY arrival',
  );
  return rows;
}

const reason = 'the bank has another amount under this reference: 54321, not 12345 (minor units)';

it.each(
  (['confirmed', 'returned'] as const).flatMap((type) =>
    (['PROCESSING', 'FAILED_IN_FLIGHT', 'COMPLETED'] as const).map((status) => [type, status]),
  ) as readonly (readonly ['confirmed' | 'returned', Begun])[],
)(
  'what is %s of another amount is left to staff, and a %s payment stays so',
  async (type, status) => {
    const { paymentId, reference, before } = await sent(status);
    await told({ reference, type, sentAmountMinor: otherAmount });
    expect(await world.history(paymentId)).toEqual(before);
    expect(await unmatched()).toEqual([{ type, reason }]);
    expect(world.logger.lines.join()).toContain(reason);
  },
);

it('what is told twice, out of order, and before the claim is left to staff once the payment is claimed', async () => {
  const { paymentId } = await world.queue('4321');
  const about = { reference: railReferenceOf(paymentId), sentAmountMinor: otherAmount };
  const reports = [{ type: 'returned' }, { type: 'confirmed' }, { type: 'confirmed' }] as const;
  await told(...reports.map((report) => ({ ...about, ...report })));
  expect(await unmatched()).toMatchObject([
    { reason: expect.stringMatching(/^QUEUED, never submitted/) as string },
    { reason: expect.stringMatching(/^waits for/) as string },
    { reason: expect.stringMatching(/^waits for/) as string },
  ]);
  const { before } = await begin(paymentId, 'PROCESSING');
  await world.makeNotificationsDue();
  await world.executor({ bank: reporting(world.bank, []) }).feedRound();
  expect(await world.history(paymentId)).toEqual(before);
  expect(await unmatched()).toEqual(reports.map(({ type }) => ({ type, reason })));
});

it('a bank that holds another amount does not take the deadline from the payment', async () => {
  const { paymentId, reference } = await sent();
  await world.pool.query(
    `INSERT INTO rail_pending (payment_id, reference, rail, stage, submitted_at, overdue_at, deadline_at, connection)
     VALUES ($1, $2, 'ACH', 'submitted', now(), now() + interval '1 day', now() + interval '1 day', 'bank')`,
    [paymentId, reference],
  );
  await told({ reference, type: 'held', sentAmountMinor: otherAmount });
  const { rows } = await world.pool.query('SELECT FROM rail_pending WHERE overdue_at IS NOT NULL');
  expect(rows).toHaveLength(1);
  expect(await unmatched()).toEqual([{ type: 'held', reason }]);
});

it('a rejection of another amount fails the payment: nothing is executed under its reference', async () => {
  const { paymentId, reference } = await sent();
  await told({ reference, type: 'rejected', sentAmountMinor: otherAmount });
  expect(await world.payment(paymentId)).toMatchObject({ status: 'FAILED' });
  expect(await unmatched()).toEqual([]);
});

it.each([
  ['names no amount', null],
  ['names the amount', 12_345],
])('a payment is COMPLETED when the bank %s', async (_names, sentAmountMinor) => {
  const { paymentId, reference } = await sent();
  await told({ reference, sentAmountMinor });
  expect(await world.payment(paymentId)).toMatchObject({ status: 'COMPLETED' });
  expect(await unmatched()).toEqual([]);
});

it('the amount of a link is what its payer pays, with the fee', async () => {
  const { paymentId } = await world.queueByLink('4321', 'INBOUND');
  const { reference } = await begin(paymentId, 'PROCESSING');
  await told({ reference, sentAmountMinor: 12_345 + 25 });
  expect(await world.payment(paymentId)).toMatchObject({
    status: 'COMPLETED',
    amountMinor: 12_345,
  });
});

it.each([null, { rejection: null, correction: null, returnReference: null, returnedAmount: null }])(
  'a notification that an older release has stored as %j completes the payment',
  async (detail) => {
    const { paymentId, reference } = await sent();
    await told({ reference: 'held', type: 'confirmed' });
    await world.pool.query('UPDATE rail_notifications SET reference = $1, detail = $2', [
      reference,
      detail,
    ]);
    await world.pool.query('UPDATE rail_notified_references SET reference = $1', [reference]);
    await world.makeNotificationsDue();
    await world.executor({ bank: reporting(world.bank, []) }).feedRound();
    expect(await world.payment(paymentId)).toMatchObject({ status: 'COMPLETED' });
  },
);
