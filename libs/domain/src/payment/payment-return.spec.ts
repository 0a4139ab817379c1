import {
  fold,
  given,
  later,
  laterReturnExample,
  linkExample,
  paymentCommands,
  paymentEvents,
  paymentExample,
  paymentHistories,
} from '../testing.js';
import { payment, type PaymentEvent, paymentStatuses } from './payment.js';
import { returnAmountsOf } from './payment-return.js';
import { laterReturnsMax } from './rail-facts.js';

const { queued, awaiting, processing, completed, returned } = paymentEvents;
const amountsAfter = (...events: readonly PaymentEvent[]) => {
  const state = fold(payment, events);
  return state && returnAmountsOf(state);
};

describe('what came back of a payment', () => {
  it('is nothing before its return', () => {
    expect(amountsAfter(queued, processing, completed)).toBeNull();
  });

  it('is all that was sent where the event names no amount, with the fee that the payer of a link paid', () => {
    expect(amountsAfter(queued, processing, completed, returned)).toEqual({
      returnedMinor: 125_000,
      keptMinor: 0,
    });
    const details = paymentExample({ direction: 'INBOUND' });
    const asked: PaymentEvent = { ...awaiting, data: { ...details, link: linkExample } };
    const answered: PaymentEvent = { ...queued, data: details };
    expect(amountsAfter(asked, answered, processing, completed, returned)).toEqual({
      returnedMinor: 125_000 + details.discountFeeMinor + details.flatFeeMinor,
      keptMinor: 0,
    });
  });

  it('is what the event names, and the rest was kept', () => {
    const data = { ...returned.data, returnedAmountMinor: 123_500 };
    expect(amountsAfter(queued, processing, completed, { ...returned, data })).toEqual({
      returnedMinor: 123_500,
      keptMinor: 1_500,
    });
  });
});

describe('a later return', () => {
  const sent: PaymentEvent = { ...queued, data: paymentExample({ paymentRail: 'SWIFT' }) };
  /** Over SWIFT, 1,500 of 125,000 cents were kept at first. */
  const short: readonly PaymentEvent[] = [
    ...[sent, processing, completed],
    {
      ...returned,
      data: { returnReasonCode: null, returnReference: 'bank-7', returnedAmountMinor: 123_500 },
    },
  ];
  const again = (changes: Partial<typeof laterReturnExample> = {}) => ({
    ...paymentCommands.ReturnPaymentAgain,
    data: { ...laterReturnExample, ...changes },
  });
  const noted = (changes: Partial<typeof laterReturnExample> = {}): PaymentEvent => ({
    ...{ type: 'PaymentReturnedAgain', at: later },
    data: { ...laterReturnExample, ...changes },
  });

  it('is more of what came back, and the payment stays RETURNED as it was', () => {
    const then = given(payment, ...short).when(again({ returnedAmountMinor: 1_000 }));
    then.then(noted({ returnedAmountMinor: 1_000 }));
    expect(then.state()).toMatchObject({
      ...{ status: 'RETURNED', statusAt: returned.at, returnedAt: returned.at },
      ...{ returnReference: 'bank-7', returnedAmountMinor: 123_500 },
      laterReturns: [{ returnReference: 'bank-8', returnedAmountMinor: 1_000 }],
    });
    expect(amountsAfter(...short, noted({ returnedAmountMinor: 1_000 }))).toEqual({
      ...{ returnedMinor: 124_500, keptMinor: 500 },
    });
  });

  it.each(['bank-7', 'bank-8'])('of the reference %s that is known already is none', (known) => {
    given(payment, ...short, noted({ returnedAmountMinor: 1 }))
      .when(again({ returnReference: known }))
      .thenNothing();
  });

  it.each([0, -1, 0.5, Number.NaN, 501])(
    'of %d cents is refused where 500 cents have not come back',
    (returnedAmountMinor) => {
      given(payment, ...short, noted({ returnedAmountMinor: 1_000 }))
        .when(again({ returnReference: 'bank-9', returnedAmountMinor }))
        .thenRefused('AMOUNT_OUT_OF_RANGE');
    },
  );

  it('is refused where all came back, or the rail returns all at once', () => {
    for (const history of [
      [sent, processing, completed, returned],
      [queued, ...short.slice(1)],
    ])
      given(payment, ...history)
        .when(again())
        .thenRefused('AMOUNT_OUT_OF_RANGE');
  });

  it('is refused when there were more than a payment can have', () => {
    const many = Array.from({ length: laterReturnsMax }, (_, n) =>
      noted({ returnReference: `bank-later-${n}`, returnedAmountMinor: 1 }),
    );
    given(payment, ...short, ...many)
      .when(again({ returnedAmountMinor: 1 }))
      .thenRefused('TOO_MANY_RETURNS');
  });

  it.each(paymentStatuses.filter((status) => status !== 'RETURNED'))(
    'is refused of a payment that is %s',
    (status) => {
      for (const history of paymentHistories[status])
        given(payment, ...history)
          .when(again())
          .thenRefused('NOT_ALLOWED_IN_STATUS');
    },
  );
});
