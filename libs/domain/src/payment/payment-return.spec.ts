import { returnAmountsOf } from './payment-return.js';
import { fold, linkExample, paymentEvents, paymentExample } from '../testing.js';
import { payment, type PaymentEvent } from './payment.js';

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
