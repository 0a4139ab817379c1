/** What the bank reports beside confirmations and returns: why it rejects, what it corrects, what it holds. */
import { BankRefused, type RailRejection } from '@pis/bank-rails';
import { contact, type ContactRecord, correctionsMax, hasActiveAccount } from '@pis/domain';
import { contactExample } from '@pis/domain/testing';
import { repository } from '@pis/event-store';
import { ownerOf, sealBankAccount } from '@pis/keyring';
import { appendEvents } from '@pis/read-models/testing';
import { reporting } from './testing/reporting.js';
import { keyring, openWorld, type QueuedMessage, type World } from './testing/world.js';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const closedAccount: RailRejection = {
  failureCode: 'INVALID_CONTACT_DATA',
  field: 'bankAccount.achAccountNumber',
  message: 'the account is closed: update the contact, then create a new payment',
  reason: 'The account is closed.',
  railCode: 'AC04',
};
const failed = {
  status: 'FAILED',
  failureCode: 'INVALID_CONTACT_DATA',
  failureMessage:
    'bankAccount.achAccountNumber: the account is closed: update the contact, then create a new payment',
};
const correction = { changeCode: 'C01', corrected: 'v2.sealed' };

async function claimed(ending: string): Promise<QueuedMessage & { readonly reference: string }> {
  const message = await world.queue(ending);
  await world.executor().handle(message.value, message.delivery);
  const { railReference } = await world.payment(message.paymentId);
  return { ...message, reference: railReference ?? '' };
}

it('a rejection after the submission says why, with code and field', async () => {
  const { paymentId, reference } = await claimed('0401');
  const bank = reporting(world.bank, [{ type: 'rejected', reference, rejection: closedAccount }]);
  await world.executor({ bank }).feedRound();
  expect(await world.payment(paymentId)).toMatchObject({
    ...failed,
    failureReason: failed.failureMessage,
  });
  expect(await world.count('rail_pending')).toBe(0);
});

it.each(['submit', 'inquire'] as const)(
  'a rejection in the answer to %s says why',
  async (call) => {
    const message = await world.queue('0401');
    const answer = () => Promise.resolve({ outcome: 'error', rejection: closedAccount } as const);
    const executor = world.executor({ bank: { ...world.bank, [call]: answer } });
    await executor.handle(message.value, message.delivery);
    await world.timePasses(message.paymentId);
    await executor.sweepRound();
    expect(await world.payment(message.paymentId)).toMatchObject(failed);
  },
);

it.each(['the feed', 'an inquiry'])(
  'a rejection by %s of a payment in flight is a note, and the bank is asked no more',
  async (way) => {
    const { paymentId, reference } = await claimed('0401');
    await world.executor().deadlineRound();
    const rejection = closedAccount;
    const answer = () => Promise.resolve({ outcome: 'error', rejection } as const);
    const feed = reporting(world.bank, [{ type: 'rejected', reference, rejection }]);
    const bank = way === 'the feed' ? feed : { ...world.bank, inquire: answer };
    const executor = world.executor({ bank });
    for (let times = 0; times < 2; times += 1) {
      await executor.feedRound();
      await world.timePasses(paymentId);
      await executor.sweepRound();
    }
    expect(await world.history(paymentId)).toEqual([
      ...['Queued', 'Processing', 'FailedInFlight', 'RejectedLate'],
    ]);
    expect(await world.payment(paymentId)).toMatchObject({
      status: 'FAILED_IN_FLIGHT',
      failureCode: null,
      lateRejection: closedAccount,
    });
    expect(await world.count('rail_pending')).toBe(0);
    expect(await world.count('rail_notifications')).toBe(0);
  },
);

it('a notification of change is recorded once on payment and contact, and changes no status', async () => {
  const { paymentId, reference } = await claimed('4321');
  const { contacts, contactId, data } = await savedContactOf(paymentId);
  const report = { type: 'corrected', reference, correction } as const;
  const executor = world.executor({ bank: reporting(world.bank, [report, report]) });
  await executor.feedRound();
  expect(await world.history(paymentId)).toEqual([
    ...['Queued', 'Processing', 'Completed', 'Corrected'],
  ]);
  expect(await world.payment(paymentId)).toMatchObject({
    status: 'COMPLETED',
    corrections: [correction],
  });
  const noted = await contacts.load(contactId);
  expect(noted).toMatchObject({ revision: 1, state: { correction: { ...correction, paymentId } } });
  expect(noted.state?.bankAccount).toEqual(data.bankAccount);
  expect(await world.count('rail_notifications')).toBe(0);
});

it.each([
  ['is kept for staff if it was of another account', () => Promise.resolve(false), false],
  ['is recorded if it was of this account', () => Promise.resolve(true), true],
  ['is recorded if the records of the connection do not tell', () => Promise.resolve(null), true],
  [
    'is recorded if the account is none for its rail',
    () => Promise.reject(new BankRefused('no such account')),
    true,
  ],
])(
  'a notification of change about a transfer that is older than the claim %s',
  async (_what, isSame, isRecorded) => {
    const { paymentId, reference } = await claimed('4321');
    const { contacts, contactId } = await savedContactOf(paymentId);
    const recordedAt = '2026-01-01T00:00:00.000Z';
    const report = { type: 'corrected', reference, correction, recordedAt } as const;
    const bank = { ...reporting(world.bank, [report]), isSame };
    await world.executor({ bank }).feedRound();
    expect((await world.payment(paymentId)).corrections).toEqual(isRecorded ? [correction] : []);
    expect((await contacts.load(contactId)).revision).toBe(isRecorded ? 1 : 0);
    expect(await world.count('rail_notifications')).toBe(isRecorded ? 0 : 1);
  },
);

it('a return is noted once on the contact, whose account is then no longer active', async () => {
  const { paymentId, reference } = await claimed('4321');
  const { contacts, contactId } = await savedContactOf(paymentId);
  const report = { type: 'returned', reference, returnReasonCode: 'R02' } as const;
  await world.executor({ bank: reporting(world.bank, [report, report]) }).feedRound();
  const { returnedAt } = await world.payment(paymentId);
  const { state, revision } = await contacts.load(contactId);
  expect(revision).toBe(1);
  expect(state?.lastReturn).toEqual({ paymentId, returnReasonCode: 'R02', returnedAt });
  expect(state === null || hasActiveAccount(state)).toBe(false);
});

it('reports about another account than the saved one are not noted on the contact', async () => {
  const { paymentId, reference } = await claimed('4321');
  const owner = ownerOf.contact((await world.payment(paymentId)).contactId ?? '');
  const numbers = { achRoutingNumber: '021000021', achAccountNumber: '999888777', swiftCode: null };
  const saved = { subType: 'CHECKING', ...numbers } as const;
  const bankAccount = await sealBankAccount(keyring, owner, saved, null);
  const { contacts, contactId } = await savedContactOf(paymentId, { bankAccount });
  const bank = reporting(world.bank, [
    { type: 'corrected', reference, correction },
    { type: 'returned', reference, returnReasonCode: 'R02' },
  ]);
  await world.executor({ bank }).feedRound();
  expect(await world.payment(paymentId)).toMatchObject({ status: 'RETURNED' });
  expect((await contacts.load(contactId)).revision).toBe(0);
});

it('a contact that this release cannot read holds up no return, and is noted once it can be read', async () => {
  const [one, other] = [await claimed('4321'), await claimed('4322')];
  const { contactId } = await savedContactOf(one.paymentId);
  const newer = { type: 'ContactOfNewerRelease', at: new Date().toISOString(), data: {} };
  await appendEvents(world.store, `contact-${contactId}`, [newer]);
  const returned = { type: 'returned', returnReasonCode: 'R02' } as const;
  const bank = reporting(world.bank, [
    { type: 'corrected', reference: one.reference, correction },
    { ...returned, reference: one.reference },
    { ...returned, reference: other.reference },
  ]);
  await world.executor({ bank }).feedRound();
  for (const { paymentId } of [one, other])
    expect(await world.payment(paymentId)).toMatchObject({ status: 'RETURNED' });
  expect((await world.payment(one.paymentId)).corrections).toEqual([correction]);
  // They are tried again, for the notes on the contact.
  expect(await world.count('rail_notifications')).toBe(2);
});

/** The record of a payment's contact, on the account that the payment took unless another one is given. */
async function savedContactOf(paymentId: string, changes: Partial<ContactRecord> = {}) {
  const contacts = repository(world.store, contact);
  const { contactId, contact: party } = await world.payment(paymentId);
  if (contactId === null) throw new Error('it has no saved contact');
  const bankAccount = party?.bankAccount ?? null;
  const data = contactExample({ contactId, bankAccount, ...changes });
  const by = { actor: 'test', requestId: null, correlationId: 'test', causationId: null };
  const context = { ...by, traceparent: null };
  const at = new Date().toISOString();
  await contacts.create(contactId, { type: 'CreateContact', at, data }, context);
  return { contacts, contactId, data };
}

it('a rejection in words that no store takes holds up nothing', async () => {
  const { paymentId, reference } = await claimed('0401');
  const rejection = { ...closedAccount, message: 'a\0b\ud800', reason: '\0', railCode: '\udc00' };
  const executor = world.executor({
    bank: reporting(world.bank, [{ type: 'rejected', reference, rejection }]),
  });
  await executor.feedRound();
  expect(await world.payment(paymentId)).toMatchObject({
    status: 'FAILED',
    failureMessage: 'bankAccount.achAccountNumber: a\ufffdb\ufffd',
  });
});

it('a notification of change for a payment under way leaves its timers', async () => {
  const { paymentId, reference } = await claimed('0401');
  const bank = reporting(world.bank, [{ type: 'corrected', reference, correction }]);
  await world.executor({ bank }).feedRound();
  expect(await world.pending(paymentId)).toMatchObject({ stage: 'submitted' });
  await world.executor().deadlineRound();
  expect(await world.payment(paymentId)).toMatchObject({ status: 'FAILED_IN_FLIGHT' });
});

it('a notification of change without its data does not hold up the next notification', async () => {
  const { paymentId, reference } = await claimed('0401');
  const reports = [
    { type: 'corrected', reference },
    { type: 'confirmed', reference },
  ] as const;
  await world.executor({ bank: reporting(world.bank, reports) }).feedRound();
  expect(await world.history(paymentId)).toEqual(['Queued', 'Processing', 'Completed']);
  expect(await world.payment(paymentId)).toMatchObject({ corrections: [] });
  // Kept for staff: only the bank knows what it meant.
  expect(await world.count('rail_notifications')).toBe(1);
});

it('more notifications of change than a payment can have do not hold up its return', async () => {
  const { paymentId, reference } = await claimed('0401');
  // Each is sealed anew, so those that a bank repeats in its files are told apart.
  const corrections = Array.from({ length: correctionsMax + 1 }, (_, index) => ({
    ...({ type: 'corrected', reference } as const),
    correction: { changeCode: 'C01', corrected: `v2.sealed-${index}` },
  }));
  const reports = [
    ...corrections,
    { type: 'returned', reference, returnReasonCode: 'R02' } as const,
  ];
  await world.executor({ bank: reporting(world.bank, reports) }).feedRound();
  expect(await world.payment(paymentId)).toMatchObject({ status: 'RETURNED' });
  // Kept for staff.
  expect(await world.count('rail_notifications')).toBe(1);
});

it('a payment that the bank holds has no deadline', async () => {
  const { paymentId, reference } = await claimed('0401');
  const executor = world.executor({ bank: reporting(world.bank, [{ type: 'held', reference }]) });
  await executor.feedRound();
  await executor.deadlineRound();
  expect(await world.history(paymentId)).toEqual(['Queued', 'Processing']);
  expect(await world.pending(paymentId)).toMatchObject({ stage: 'submitted' });
  expect(await world.count('rail_notifications')).toBe(0);
});
