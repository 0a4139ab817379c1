import { hasFilters, isSameSearch, paymentSearchOf } from './payment-search.js';

const originatorId = '0f8fad5b-d9cb-469f-a165-70867728950e';

it('reads every filter of an address', () => {
  const search = {
    status: 'FAILED',
    direction: 'INBOUND',
    paymentRail: 'ACH',
    originatorId,
    contactId: originatorId,
    externalPaymentId: 'order-17',
    createdFrom: '2026-11-01',
    createdTo: '2026-11-30',
  };
  expect(paymentSearchOf(search)).toEqual(search);
  expect(paymentSearchOf({ externalPaymentId: 17 })).toEqual({ externalPaymentId: '17' });
});

it('ignores what is no filter', () => {
  expect(
    paymentSearchOf({
      status: 'toString',
      direction: ['INBOUND'],
      paymentRail: 'ach',
      originatorId: '1',
      externalPaymentId: '',
      createdFrom: '2026-13-45',
      createdTo: '2026-02-30',
      other: 'x',
    }),
  ).toEqual({});
});

it('compares filters', () => {
  expect(hasFilters({})).toBe(false);
  expect(hasFilters({ contactId: originatorId })).toBe(true);
  expect(isSameSearch({ status: 'FAILED' }, { status: 'FAILED' })).toBe(true);
  expect(isSameSearch({ status: 'FAILED' }, { status: 'FAILED', direction: 'INBOUND' })).toBe(
    false,
  );
});
