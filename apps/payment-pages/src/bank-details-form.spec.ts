import { readForm, valuesOf } from './bank-details-form.js';

const account = '1234567890123456';
const form = (achAccountNumber: string) =>
  valuesOf(
    new URLSearchParams({
      ...{ subType: 'CHECKING', achRoutingNumber: '021000021', achAccountNumber },
      ...{ achAccountNumberConfirmation: achAccountNumber, addressLine1: '12 St James Square' },
      ...{ city: 'Sacramento', state: 'CA', postalCode: '95814', countryCode: 'US' },
    }),
  );

it.each([
  ['behind', `${' '.repeat(490)}${account}`],
  ['within', [...account].join(' '.repeat(40))],
])('reads an account number that was pasted %s a lot of white space as it is', (_where, pasted) => {
  expect(form(pasted).achAccountNumber).toBe(account);
});

it('takes no part of a number that is too long', () => {
  expect(readForm(form('1'.repeat(2_000)))).toEqual({
    ok: false,
    problems: [{ field: 'achAccountNumber', issue: 'validation_account_number' }],
  });
});
