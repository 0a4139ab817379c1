import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  failureCodeOf,
  meaningOf,
  rejectionOf,
  rejectionReasons,
  sentence,
} from './rejection-reasons.js';

const transfer = {
  rail: 'FEDNOW',
  contactEntityType: 'INDIVIDUAL',
  originatorEntityType: 'BUSINESS',
} as const;
const coded = (code: string) => ({ code, proprietary: null, text: null });

it.each([
  ['AC03', 'INVALID_CONTACT_DATA', 'bankAccount.achAccountNumber'],
  ['AC04', 'INVALID_CONTACT_DATA', 'bankAccount.achAccountNumber'],
  ['AC14', 'INVALID_CONTACT_DATA', 'bankAccount.subType'],
  ['AC02', 'INVALID_ORIGINATOR_DATA', 'bankAccount.achAccountNumber'],
  ['BE01', 'INVALID_CONTACT_DATA', 'lastName'],
  ['BE04', 'INVALID_CONTACT_DATA', 'legalAddress'],
  ['BE08', 'INVALID_ORIGINATOR_DATA', 'companyName'],
  ['RC04', 'INVALID_CONTACT_DATA', 'bankAccount.achRoutingNumber'],
  ['AM14', 'INTERNAL_ERROR', null],
  ['TM01', 'INTERNAL_ERROR', null],
  ['MS03', 'INTERNAL_ERROR', null],
  ['ZZ99', 'INTERNAL_ERROR', null],
])('takes %s for %s of %s', (code, failureCode, field) => {
  expect(rejectionOf(coded(code), transfer)).toMatchObject({ failureCode, field, railCode: code });
});

it('names the SWIFT code where the bank is known by it', () => {
  const rejection = rejectionOf(coded('RC04'), { ...transfer, rail: 'SWIFT' });
  expect(rejection.field).toBe('bankAccount.swiftCode');
});

it('says what is wrong and what to do, and never to wait for what time does not mend', () => {
  expect(rejectionOf(coded('AC04'), transfer)).toMatchObject({
    message:
      'The account is closed: ask the contact for another account, update the contact, then create a new payment.',
    reason:
      'The FEDNOW bank rejected the payment with reason AC04: the account is closed. No funds were moved.',
  });
  for (const code of Object.keys(rejectionReasons)) {
    const { failureCode, message } = rejectionOf(coded(code), transfer);
    expect(message).toMatch(/^[A-Z][^:]+: [^:]+\.$/);
    if (failureCode !== 'INTERNAL_ERROR') expect(message).not.toMatch(/wait|later/);
  }
});

it.each([
  ['a code that is none of ISO', { code: 'constructor', proprietary: null }, null],
  ['a number as the code', { code: '4321', proprietary: null }, null],
  ['an account number', { code: null, proprietary: '123456789012' }, null],
  ['a text with an account number', { code: null, proprietary: 'ACCT 12345678 CLOSED' }, null],
  ['a number in groups', { code: null, proprietary: '12-34 56' }, null],
  ['a text that is no code', { code: null, proprietary: 'Ärger mit "Konto"' }, null],
  ['a longer text than a code has', { code: null, proprietary: 'A'.repeat(36) }, null],
  ["a bank's own code", { code: null, proprietary: 'BLK-7 CLOSED' }, 'BLK-7 CLOSED'],
  ["the RTP network's code", { code: null, proprietary: '9912' }, '9912'],
])('keeps %s only if it can hold no number of somebody', (_what, reason, railCode) => {
  const rejection = rejectionOf({ ...reason, text: null }, transfer);
  expect(rejection.railCode).toBe(railCode);
  expect(rejection.reason).toContain(railCode ?? 'without a reason');
  if (railCode === null) expect(JSON.stringify(rejection)).not.toMatch(/\d{4}|AAAA|Ärger/);
});

it('takes a proprietary reason and none for an internal error', () => {
  const proprietary = { code: null, proprietary: '9912', text: 'Some text' };
  expect(rejectionOf(proprietary, transfer)).toMatchObject({
    failureCode: 'INTERNAL_ERROR',
    railCode: '9912',
  });
  expect(rejectionOf(null, transfer)).toMatchObject({ railCode: null });
});

it('is the table in docs/rails-iso20022.md', () => {
  const root = join(import.meta.dirname, '../../../../..');
  const document = readFileSync(join(root, 'docs/rails-iso20022.md'), 'utf8');
  const rows = document
    .split('\n')
    .filter((line) => /^\| [A-Z0-9]{4} +\| (INVALID|INTERNAL)_/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, code, failureCode, subject, message]) => ({ code, failureCode, subject, message }));
  const expected = Object.keys(rejectionReasons).map((code) => {
    const meaning = meaningOf(code);
    return {
      code,
      failureCode: failureCodeOf(meaning),
      subject: meaning.subject ?? '',
      message: sentence(meaning),
    };
  });
  expect(rows).toEqual(expected);
});
