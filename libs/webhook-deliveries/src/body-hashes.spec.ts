import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { erasedPartyView } from '@pis/contracts';
import { bodyHashOf, bodyShape } from './body-hashes.js';

const party = (id: string) => ({
  ...{ id, firstName: 'Ada', lastName: 'Moreno', companyName: null, entityType: 'INDIVIDUAL' },
  bankAccount: { bankName: 'Example Bank', achAccountNumber: '******4321' },
});
const [originator, contact] = [party('o'), party('c')];
const envelope = (data: object) => ({ id: 'e', version: '1', eventType: 'payment.queued', data });

it('the hash is the same before and after the erasure of each party', () => {
  const of = (data: object) =>
    bodyHashOf(envelope({ paymentAmount: 1, originator, contact, ...data }));
  const whole = of({});
  expect(of({ contact: erasedPartyView(contact) })).toBe(whole);
  expect(of({ originator: erasedPartyView(originator) })).toBe(whole);
  expect(of({ contact: party('another') })).not.toBe(whole);
  expect(of({ paymentAmount: 2 })).not.toBe(whole);
  expect(of({ contact: null })).not.toBe(whole);
});

/** Of the schemas of the bodies, by shape: when this fails, raise bodyShape and add its line. */
const schemasOf: Readonly<Record<number, string>> = {
  1: 'ececc29e58e511cefdbf5aed61579d9911f57e40bafb0c598b62599896570419',
};

it('a body with other fields has another shape', () => {
  const docs = path.join(import.meta.dirname, '../../../docs/events');
  const hash = createHash('sha256');
  for (const name of ['payment-event', 'statement-event'])
    hash.update(readFileSync(path.join(docs, `${name}.schema.json`)));
  expect(schemasOf[bodyShape]).toBe(hash.digest('hex'));
});
