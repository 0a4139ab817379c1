import {
  collection,
  collectionDetails,
  type PaymentDetails,
  payment,
  paymentStatuses,
  personalPartsOf,
  settlementPartyId,
} from '../index.js';
import {
  bankAccountExample,
  fold,
  given,
  ids,
  later,
  originatorParty,
  outcomeOf,
  paymentCommands,
  paymentEvents,
  paymentExample,
  paymentHistories,
} from '../testing.js';

const account = bankAccountExample({ sealed: 'v1.sealed-settlement-account' });
const details = collectionDetails({
  collectionId: ids.payment,
  organizationId: ids.organization,
  amountMinor: 12_345,
  note: 'Fees 2026-10',
  settlement: { name: 'Board Operations Inc', bankAccount: account },
  originator: originatorParty,
});
const queue = (changes: Partial<PaymentDetails> = {}) =>
  ({ type: 'QueuePayment', at: later, data: { ...details, ...changes } }) as const;
const queued = { type: 'PaymentQueued', at: later, data: details } as const;

describe('a collection', () => {
  it('debits the originator over ACH, and credits the account of the operator', () => {
    given(collection).when(queue()).then(queued);
    const { originator, contact, ...terms } = details;
    expect(originator).toMatchObject({
      id: settlementPartyId,
      companyName: 'Board Operations Inc',
      bankAccount: account,
    });
    expect(contact).toEqual(originatorParty);
    expect(terms).toMatchObject({
      originatorId: ids.originator,
      amountMinor: 12_345,
      paymentRail: 'ACH',
      direction: 'INBOUND',
    });
  });

  it('is created once', () => {
    given(collection, queued).when(queue()).thenRefused('PAYMENT_ALREADY_EXISTS');
  });

  it('is refused without an amount and without an account to debit', () => {
    given(collection)
      .when(queue({ amountMinor: 0 }))
      .thenRefused('AMOUNT_OUT_OF_RANGE');
    const contact = { ...originatorParty, bankAccount: null };
    given(collection).when(queue({ contact })).thenRefused('BANK_ACCOUNT_REQUIRED');
  });

  it.each([
    ['with fees of its own', { flatFeeMinor: 1 }],
    ['that pays the originator', { direction: 'OUTBOUND' }],
    ['over another rail', { paymentRail: 'RTP' }],
    ['to somebody else', { originator: originatorParty }],
    ['from somebody else', { originatorId: ids.contact }],
    ['from a contact', { contactId: ids.contact }],
  ] as const)('cannot be a transfer %s', (_what, changes) => {
    expect(() => outcomeOf(collection, [], queue(changes))).toThrow('no collection');
  });

  it('cannot wait for a link, be submitted through one or be canceled', () => {
    const { AwaitConfirmation, SubmitCounterparty, CancelPayment } = paymentCommands;
    given(collection).when(AwaitConfirmation).thenRefused('NOT_ALLOWED_IN_STATUS');
    for (const command of [SubmitCounterparty, CancelPayment])
      given(collection, paymentEvents.awaiting).when(command).thenRefused('NOT_ALLOWED_IN_STATUS');
  });

  it('lives like a payment from QUEUED on', () => {
    const { QueuePayment, AwaitConfirmation, SubmitCounterparty, CancelPayment, ...later } =
      paymentCommands;
    for (const status of paymentStatuses)
      for (const history of paymentHistories[status])
        for (const command of Object.values(later))
          expect(outcomeOf(collection, history, command)).toEqual(
            outcomeOf(payment, history, command),
          );
    const history = paymentHistories.RETURNED[0] ?? [];
    expect(fold(collection, history)).toEqual(fold(payment, history));
    expect([QueuePayment, AwaitConfirmation, SubmitCounterparty, CancelPayment]).toHaveLength(4);
  });
});

it('the debited party of a collection is sealed under the key of the originator', () => {
  const owners = (streamId: string, data: PaymentDetails) =>
    personalPartsOf({ streamId, type: 'PaymentQueued', data: { ...data } }).map(
      ({ owner }) => owner,
    );
  expect(owners(`collection-${ids.payment}`, details)).toEqual([
    `originator:${settlementPartyId}`,
    `originator:${ids.originator}`,
  ]);
  expect(owners(`payment-${ids.payment}`, paymentExample())).toEqual([
    `originator:${ids.originator}`,
    `contact:${ids.contact}`,
  ]);
});
