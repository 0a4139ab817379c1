import { payment, paymentRails } from '@pis/domain';
import { fold, paymentEvents } from '@pis/domain/testing';
import { paymentListItem, paymentView } from './payment-view.js';

describe('A payment', () => {
  it.each(paymentRails)('shows the rail that was recorded: %s', (paymentRail) => {
    const { queued } = paymentEvents;
    const state = fold(payment, [{ ...queued, data: { ...queued.data, paymentRail } }]);
    if (state === null) throw new Error('the example is empty');
    expect(paymentView(state).paymentRail).toBe(paymentRail);
    expect(paymentListItem(state).paymentRail).toBe(paymentRail);
  });
});
