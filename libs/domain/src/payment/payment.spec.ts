/** Payment, beyond the matrix: what each event holds, what the state shows, and which commands are refused. */
import {
  at,
  bankAccountExample,
  contactParty,
  expiresAt,
  failPayment,
  fold,
  given,
  ids,
  later,
  legalAddress,
  linkExample,
  linkRequest,
  originatorParty,
  paymentCommands as commands,
  paymentEvents as events,
  paymentExample,
  railDecisionExample,
} from '../testing.js';
import { maxAmountMinor, payment, type PaymentCommand, type PaymentEvent } from './payment.js';
import type { PaymentDetails } from './payment-details.js';
import { payerFeeMinor, transferAmountMinor } from './payment-link.js';

const queue = (overrides: Partial<PaymentDetails>): PaymentCommand => ({
  type: 'QueuePayment',
  at: later,
  data: paymentExample(overrides),
});
const stateOf = (...history: readonly PaymentEvent[]) => {
  const state = fold(payment, history);
  if (state === null) throw new Error('no payment');
  return state;
};
const { awaiting, queued, processing, completed } = events;

describe('creating a payment', () => {
  it('starts in QUEUED and keeps everything the payment needs forever', () => {
    const then = given(payment).when(queue({}));
    then.then({ type: 'PaymentQueued', at: later, data: paymentExample() });
    expect(then.state()).toStrictEqual({
      ...paymentExample(),
      status: 'QUEUED',
      createdAt: later,
      statusAt: later,
      link: null,
      completedAt: null,
      failedAt: null,
      returnedAt: null,
      canceledAt: null,
      failureCode: null,
      failureMessage: null,
      failureReason: null,
      returnReasonCode: null,
      returnReference: null,
      returnedAmountMinor: null,
      railReference: null,
      claimedAt: null,
      connection: null,
      corrections: [],
      lateRejection: null,
      laterReturns: [],
    });
  });

  it.each([1, 2, maxAmountMinor - 1, maxAmountMinor])('accepts an amount of %d', (amountMinor) => {
    given(payment)
      .when(queue({ amountMinor }))
      .then({ type: 'PaymentQueued', at: later, data: paymentExample({ amountMinor }) });
  });

  it.each([0, -1, -0, 1.5, maxAmountMinor + 1, Number.MAX_SAFE_INTEGER + 1, NaN, Infinity])(
    'refuses an amount of %d, also for a payment link',
    (amountMinor) => {
      given(payment).when(queue({ amountMinor })).thenRefused('AMOUNT_OUT_OF_RANGE');
      given(payment)
        .when({
          type: 'AwaitConfirmation',
          at: later,
          data: { ...paymentExample({ amountMinor }), link: linkRequest },
        })
        .thenRefused('AMOUNT_OUT_OF_RANGE');
    },
  );

  it('refuses to queue money for a party without a bank account', () => {
    const refused = 'BANK_ACCOUNT_REQUIRED';
    given(payment)
      .when(queue({ contact: null }))
      .thenRefused(refused);
    given(payment)
      .when(queue({ contact: { ...contactParty, bankAccount: null } }))
      .thenRefused(refused);
    given(payment)
      .when(queue({ originator: { ...originatorParty, bankAccount: null } }))
      .thenRefused(refused);
  });
});

describe('a payment with a link', () => {
  const submit = (time: string): PaymentCommand => ({ ...commands.SubmitCounterparty, at: time });
  const { link: _link, ...awaitingDetails } = awaiting.data;
  const { bankAccount, legalAddress: _, ...rail } = commands.SubmitCounterparty.data;
  const queuedData = {
    ...awaitingDetails,
    ...rail,
    contact: { ...contactParty, legalAddress, bankAccount },
  };

  it('waits for a counterparty that is not saved, and the link expires after exactly 30 days', () => {
    expect(stateOf(awaiting)).toMatchObject({
      status: 'AWAITING_CONFIRMATION',
      link: linkExample,
      contact: null,
    });
    given(payment)
      .when({ ...commands.AwaitConfirmation, at })
      .then(awaiting);
  });

  it('records of a saved counterparty neither the account on file nor its address', () => {
    const saved = paymentExample({ contact: { ...contactParty, legalAddress } });
    const contact = { ...contactParty, legalAddress: null, bankAccount: null };
    given(payment)
      .when({ type: 'AwaitConfirmation', at, data: { ...saved, link: linkRequest } })
      .then({
        type: 'PaymentAwaitingConfirmation',
        at,
        data: { ...saved, contact, link: linkExample },
      });
  });

  it('records of an unsaved counterparty nothing outside the link', () => {
    const data = { ...awaitingDetails, contact: contactParty, link: linkRequest };
    given(payment).when({ type: 'AwaitConfirmation', at, data }).then(awaiting);
  });

  it('needs the originator’s bank account from the start', () => {
    const data = {
      ...paymentExample({ originator: { ...originatorParty, bankAccount: null } }),
      link: linkRequest,
    };
    given(payment)
      .when({ type: 'AwaitConfirmation', at: later, data })
      .thenRefused('BANK_ACCOUNT_REQUIRED');
  });

  it('is queued with exactly the details it was created with and the counterparty’s answer', () => {
    const then = given(payment, awaiting).when(submit(later));
    then.then({
      type: 'PaymentQueued',
      at: later,
      data: queuedData,
    });
    expect(then.state()).toMatchObject({
      status: 'QUEUED',
      createdAt: at,
      contact: { ...contactParty, legalAddress },
      contactId: null,
      paymentRail: 'RTP',
      link: linkExample,
    });
  });

  it('takes an answer until the last millisecond before the link expires', () => {
    given(payment, awaiting).when(submit('2026-12-21T08:59:59.999Z')).then({
      type: 'PaymentQueued',
      at: '2026-12-21T08:59:59.999Z',
      data: queuedData,
    });
    given(payment, awaiting).when(submit(expiresAt)).thenRefused('LINK_EXPIRED');
    given(payment, awaiting).when(submit('2027-01-01T00:00:00.000Z')).thenRefused('LINK_EXPIRED');
  });

  it('can still be canceled when the link has expired', () => {
    const time = '2027-01-01T00:00:00.000Z';
    const then = given(payment, awaiting).when({ ...commands.CancelPayment, at: time });
    then.then({ type: 'PaymentCanceled', at: time, data: {} });
    expect(then.state()).toMatchObject({ status: 'CANCELED', canceledAt: time });
  });

  it('is not queued once the account holder was erased', () => {
    const erased = { ...linkExample, holder: null, erased: true } as const;
    given(payment, { ...awaiting, data: { ...awaiting.data, link: erased } })
      .when(submit(later))
      .thenRefused('COUNTERPARTY_ERASED');
  });

  it('of an older release, without a token, takes no answer', () => {
    const { upcast } = payment;
    const old = { ...awaitingDetails, expiresAt };
    const data = upcast?.('PaymentAwaitingConfirmation', 2, old) as typeof awaiting.data;
    expect(data).toMatchObject({
      link: { tokenDigest: '', counterpartyId: ids.payment, expiresAt },
    });
    given(payment, { ...awaiting, data })
      .when(submit(later))
      .thenRefused('COUNTERPARTY_ERASED');
  });
});

describe('what a transfer moves', () => {
  const { link } = awaiting.data;

  it('is the amount and the processing fee when the payer of a link is debited', () => {
    const inbound = paymentExample({ direction: 'INBOUND' });
    expect(transferAmountMinor({ ...inbound, link })).toBe(125_000 + 312 + 50);
    expect(payerFeeMinor({ ...inbound, link })).toBe(312 + 50);
  });

  it('is the amount alone without a link, and when money is sent', () => {
    expect(transferAmountMinor({ ...paymentExample({ direction: 'INBOUND' }), link: null })).toBe(
      125_000,
    );
    expect(transferAmountMinor({ ...paymentExample(), link })).toBe(125_000);
  });
});

describe('a payment that no rail can take', () => {
  const railDecision = { ...railDecisionExample, isPossible: false };
  const stranded: PaymentEvent = { ...queued, data: paymentExample({ railDecision }) };

  it('is never submitted to a rail', () => {
    given(payment, stranded).when(commands.ProcessPayment).thenRefused('NO_RAIL');
  });

  it('can be failed', () => {
    const then = given(payment, stranded).when(commands.FailPayment);
    expect(then.state()).toMatchObject({ status: 'FAILED' });
  });
});

describe('a failed payment', () => {
  it('says when, which code and why', () => {
    const then = given(payment, queued).when(failPayment('INVALID_CONTACT_DATA'));
    const why = 'bankAccount.achAccountNumber was rejected';
    const data = { failureCode: 'INVALID_CONTACT_DATA', failureMessage: why, failureReason: why };
    expect(then.state()).toMatchObject({ ...data, status: 'FAILED', failedAt: later });
  });

  it.each(['INVALID_ORIGINATOR_DATA', 'INVALID_CONTACT_DATA'] as const)(
    'repeats failureMessage as failureReason for %s, whatever reason was given',
    (failureCode) => {
      const failureMessage = 'email was rejected';
      given(payment, queued)
        .when({
          type: 'FailPayment',
          at: later,
          data: { failureCode, failureMessage, failureReason: 'something else' },
        })
        .then({
          type: 'PaymentFailed',
          at: later,
          data: { failureCode, failureMessage, failureReason: failureMessage },
        });
    },
  );

  it('keeps a reason of its own for INTERNAL_ERROR', () => {
    const data = {
      failureCode: 'INTERNAL_ERROR',
      failureMessage: 'Try again in a few minutes.',
      failureReason: 'The payment could not be submitted.',
    } as const;
    given(payment, queued, processing)
      .when({ type: 'FailPayment', at: later, data })
      .then({ type: 'PaymentFailed', at: later, data });
  });
});

describe('a payment whose confirmation is late', () => {
  it('shows a reason, and no failure code, while it is under review', () => {
    expect(
      given(payment, queued, processing).when(commands.FailPaymentInFlight).state(),
    ).toMatchObject({
      failedAt: later,
      failureReason: 'no confirmation from the rail',
      failureCode: null,
    });
  });

  it('shows no failure after the late signal has settled it', () => {
    const then = given(payment, queued, processing, events.failedInFlight).when(
      commands.CompletePayment,
    );
    then.then({ type: 'PaymentCompleted', at: later, data: {} });
    expect(then.state()).toMatchObject({
      status: 'COMPLETED',
      completedAt: later,
      failedAt: null,
      failureCode: null,
      failureMessage: null,
      failureReason: null,
    });
  });
});

describe('a returned payment', () => {
  it.each(['R01', 'R02', 'R07', null])('shows the bank’s code %s', (returnReasonCode) => {
    const then = given(payment, queued, processing, completed).when({
      type: 'ReturnPayment',
      at: later,
      data: { returnReasonCode },
    });
    then.then({ type: 'PaymentReturned', at: later, data: { returnReasonCode } });
    expect(then.state()).toMatchObject({
      returnReasonCode,
      returnedAt: later,
      completedAt: at,
      failureReason: null,
    });
  });

  it.each([
    ['SWIFT', 124_999, { returnedAmountMinor: 124_999 }],
    ['SWIFT', 1, { returnedAmountMinor: 1 }],
    ['SWIFT', 125_000, {}],
    ['ACH', 125_000, {}],
  ] as const)('over %s, of which %i cents of 125,000 came back', (paymentRail, cents, recorded) => {
    const sent: PaymentEvent = { ...queued, data: paymentExample({ paymentRail }) };
    const named = { returnReasonCode: null, returnReference: 'bank-7' };
    const then = given(payment, sent, processing, completed).when({
      type: 'ReturnPayment',
      at: later,
      data: { ...named, returnedAmountMinor: cents },
    });
    then.then({ type: 'PaymentReturned', at: later, data: { ...named, ...recorded } });
    expect(then.state()).toMatchObject({
      amountMinor: 125_000,
      returnReference: 'bank-7',
      returnedAmountMinor: cents === 125_000 ? null : cents,
    });
  });

  it.each([
    ['SWIFT', 0],
    ['SWIFT', -1],
    ['SWIFT', 0.5],
    ['SWIFT', Number.NaN],
    ['SWIFT', 125_001],
    ['ACH', 124_999],
    ['FEDWIRE', 124_999],
    ['RTP', 124_999],
    ['FEDNOW', 124_999],
  ] as const)('over %s never comes back as %d cents of 125,000', (paymentRail, cents) => {
    const sent: PaymentEvent = { ...queued, data: paymentExample({ paymentRail }) };
    given(payment, sent, processing, completed)
      .when({
        type: 'ReturnPayment',
        at: later,
        data: { returnReasonCode: null, returnedAmountMinor: cents },
      })
      .thenRefused('AMOUNT_OUT_OF_RANGE');
  });

  it('of an older event came back whole', () => {
    expect(stateOf(queued, processing, completed, events.returned)).toMatchObject({
      status: 'RETURNED',
      returnReference: null,
      returnedAmountMinor: null,
    });
  });

  it('is returned once: a second notice from the bank is refused', () => {
    given(payment, queued, processing, completed, events.returned)
      .when(commands.ReturnPayment)
      .thenRefused('NOT_ALLOWED_IN_STATUS');
  });
});

describe('a stream that cannot have happened', () => {
  it.each(
    Object.values(events).filter(
      ({ type }) => type !== 'PaymentQueued' && type !== 'PaymentAwaitingConfirmation',
    ),
  )('throws when it begins with $type', (event) => {
    expect(() => fold(payment, [event])).toThrow('first event of a payment');
  });
});

it('keeps the bank’s reference, connection and time from PROCESSING on', () => {
  expect(stateOf(queued)).toMatchObject({
    railReference: null,
    claimedAt: null,
    connection: null,
  });
  expect(stateOf(queued, processing, completed)).toMatchObject({
    railReference: 'rail-1',
    claimedAt: processing.at,
    connection: null,
  });
  const then = given(payment, queued).when({
    type: 'ProcessPayment',
    at: later,
    data: { railReference: 'rail-1', connection: 'first-bank' },
  });
  expect(then.state()?.connection).toBe('first-bank');
});

it('does not follow later changes of the parties: the payment holds them as they were', () => {
  const other = { ...contactParty, bankAccount: bankAccountExample({ bankName: 'Another' }) };
  const state = given(payment)
    .when(queue({ contact: other }))
    .state();
  expect(state?.contact).toStrictEqual(other);
});
