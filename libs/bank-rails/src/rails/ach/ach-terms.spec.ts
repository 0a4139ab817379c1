import { type EntryTerms, entryText, submittedReceiver, termsMac } from './ach-terms.js';

const keyring = { mac: (purpose: string, text: string) => `${purpose} ${text}` };
const receiver = {
  routingNumber: '021000021',
  accountNumber: '987654321',
  name: 'Jane Roe',
  note: '',
};
const id = '0190a5f0-0000-7000-8000-000000000001';
const terms: EntryTerms = {
  paymentId: id,
  organizationId: id,
  originatorId: id,
  contactId: id,
  direction: 'INBOUND',
  amountMinor: 1_00,
  standardEntryClass: 'CCD',
  transactionCode: '27',
  service: 'standard',
  individualId: 'ONE',
  isReinitiation: false,
};
const reinitiation = { ...terms, isReinitiation: true };

function opened(sealedAs: EntryTerms, row: EntryTerms) {
  const mac = termsMac(keyring, row, { ...receiver, subType: 'CHECKING' });
  const found = { ...row, reference: `collection-${id}`, termsMac: mac };
  return submittedReceiver(keyring, found, entryText(receiver, sealedAs));
}

it('an entry fits only as the presentation that it was submitted as', () => {
  expect(opened(terms, terms)).toEqual(receiver);
  expect(opened(reinitiation, reinitiation)).toEqual(receiver);
  expect(opened(terms, reinitiation)).toBeNull();
  expect(opened(reinitiation, terms)).toBeNull();
});

it('an executor of the previous release, which compares the terms alone, finds them unaltered', () => {
  const termsOf = (text: string) => (JSON.parse(text) as { readonly terms: unknown }).terms;
  expect(termsOf(entryText(receiver, reinitiation))).toEqual(termsOf(entryText(receiver, terms)));
});
