import { payment, type PaymentParty, paymentRails } from '@pis/domain';
import { contactParty, fold, paymentEvents, paymentExample } from '@pis/domain/testing';
import { paymentListItem, paymentView, type PaymentView, withErased } from './payment-view.js';

describe('A payment', () => {
  it.each(paymentRails)('shows the rail that was recorded: %s', (paymentRail) => {
    const { queued } = paymentEvents;
    const state = fold(payment, [{ ...queued, data: { ...queued.data, paymentRail } }]);
    if (state === null) throw new Error('the example is empty');
    expect(paymentView(state).paymentRail).toBe(paymentRail);
    expect(paymentListItem(state).paymentRail).toBe(paymentRail);
  });
});

describe('a party that was erased', () => {
  const erasedContact: PaymentParty = {
    ...contactParty,
    firstName: null,
    lastName: null,
    companyName: null,
    bankAccount: null,
    erased: true,
  };
  const erased = {
    id: contactParty.id,
    firstName: null,
    lastName: null,
    companyName: null,
    entityType: 'INDIVIDUAL',
    erased: true,
  };

  it('keeps its id and entity type; the other party is as before and has no field for it', () => {
    const state = fold(payment, [
      { ...paymentEvents.queued, data: paymentExample({ contact: erasedContact }) },
    ]);
    if (state === null) throw new Error('there is no payment');
    expect(paymentView(state).contact).toEqual({ ...erased, bankAccount: null });
    expect(paymentListItem(state).contact).toEqual(erased);
    expect(paymentView(state).originator).not.toHaveProperty('erased');
  });

  it('is taken out of a view that was stored, as if the view were made anew', () => {
    const payments = [contactParty, erasedContact].map((contact) =>
      fold(payment, [{ ...paymentEvents.queued, data: paymentExample({ contact }) }]),
    );
    const [before, after] = payments.map((state) => {
      if (state === null) throw new Error('there is no payment');
      return JSON.stringify(paymentView(state));
    });
    const stored = JSON.parse(before ?? '') as PaymentView;
    const isErased = (partyId: string) => partyId === contactParty.id;
    expect(JSON.stringify(withErased(stored, isErased))).toBe(after);
    expect(withErased(stored, () => false)).toBe(stored);
    const twice = withErased(stored, isErased);
    expect(withErased(twice, isErased)).toBe(twice);
  });
});
