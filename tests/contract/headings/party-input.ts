/** What docs/api-decisions.md takes for a contact, in create and update. */
import { randomUUID } from 'node:crypto';
import type { Contact } from '@pis/client';
import { call, data, expectError, problemsOf } from '../support/http.js';
import {
  accountNumber,
  bankAccount,
  contactBody,
  contactOf,
  createContact,
  type Json,
  originatorId,
  otherRoutingNumber,
  routingNumber,
  secondOriginatorId,
} from '../support/things.js';

const post = (body: unknown) => call('POST', '/v1/contacts/', { body });
const patch = (contactId: string, body: unknown) =>
  call('PATCH', `/v1/contacts/${contactId}`, { body });

/** The problems of a contact that is right but for `changes`. */
const problemsWith = async (changes: Json) => problemsOf(await post(await contactBody(changes)));
const accepted = async (changes: Json) => contactOf(await createContact(changes));

const legalAddress = {
  addressLine1: '12 Analytical Street',
  city: 'New York',
  state: 'NY',
  postalCode: '10001',
  countryCode: 'US',
};
const account = (changes: Json) => ({ bankAccount: { ...bankAccount(), ...changes } });

describe('Fields of a contact', () => {
  it('party-input-1 requires originator, entity type, e-mail and the names of the type, no more', async () => {
    const person = { entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Lovelace' };
    const company = { entityType: 'BUSINESS', companyName: 'Lovelace Ltd' };
    for (const names of [person, company]) {
      const email = `${randomUUID()}@example.com`;
      const full: Json = { originatorId: await originatorId(), email, ...names };
      for (const field of Object.keys(full)) {
        // Without a type nothing says which names are needed.
        const { [field]: _, ...rest } = full;
        expect(problemsOf(await post(rest))).toEqual([`${field} validation_required`]);
      }
      expect((await post(full)).status).toBe(201);
    }
  });

  it('party-input-2 takes a phoneNumber as E.164 writes it, or none', async () => {
    for (const phoneNumber of ['+12125550123', '+4930901820', '+123456789012345'])
      expect((await accepted({ phoneNumber })).phoneNumber).toBe(phoneNumber);
    expect((await accepted({})).phoneNumber).toBeNull();
    for (const phoneNumber of ['12125550123', '+0212555', '+1234567890123456', '+1-212-555-0123'])
      expect(await problemsWith({ phoneNumber })).toEqual(['phoneNumber validation_phone_number']);
  });

  it('party-input-3 takes a legalAddress of all five fields or none, in the US in its form', async () => {
    expect((await accepted({ legalAddress })).legalAddress).toEqual(legalAddress);
    expect((await accepted({})).legalAddress).toBeNull();
    for (const field of Object.keys(legalAddress))
      expect(await problemsWith({ legalAddress: { ...legalAddress, [field]: undefined } })).toEqual(
        [`legalAddress.${field} validation_required`],
      );
    for (const state of ['New York', 'N', '12'])
      expect(await problemsWith({ legalAddress: { ...legalAddress, state } })).toEqual([
        'legalAddress.state validation_state',
      ]);
    for (const postalCode of ['1000', '100011', '10001-1234', 'ABCDE'])
      expect(await problemsWith({ legalAddress: { ...legalAddress, postalCode } })).toEqual([
        'legalAddress.postalCode validation_postal_code',
      ]);
  });

  it('party-input-4 takes a bankAccount, finds its bankName itself, and leaves swiftCode out', async () => {
    for (const field of ['subType', 'achRoutingNumber', 'achAccountNumber'])
      expect(await problemsWith(account({ [field]: undefined }))).toEqual([
        `bankAccount.${field} validation_required`,
      ]);
    const found = (await accepted(account({ bankName: 'A bank of mine' }))).bankAccount;
    expect(found).toMatchObject({ swiftCode: null, bankName: expect.stringMatching(/JPMorgan/) });
    const contact = await accepted(account({ achRoutingNumber: otherRoutingNumber }));
    expect(contact.bankAccount?.bankName).not.toBe(found?.bankName);
    expect((await accepted(account({ swiftCode: 'CHASUS33' }))).bankAccount?.swiftCode).toBe(
      '****US33',
    );
  });
});

describe('Lengths and formats', () => {
  it('party-input-5 takes names of 1 to 100 characters, trimmed', async () => {
    for (const field of ['firstName', 'lastName'] as const) {
      for (const [given, shown] of [
        ['  Ada ', 'Ada'],
        ['A', 'A'],
        [` ${'é'.repeat(100)} `, 'é'.repeat(100)],
      ] as const)
        expect((await accepted({ [field]: given }))[field]).toBe(shown);
      for (const empty of ['', '   '])
        expect(await problemsWith({ [field]: empty })).toEqual([`${field} validation_min_length`]);
      expect(await problemsWith({ [field]: 'a'.repeat(101) })).toEqual([
        `${field} validation_max_length`,
      ]);
    }
  });

  it('party-input-6 takes a companyName of 1 to 200 characters', async () => {
    const company = (companyName: string) => ({ entityType: 'BUSINESS', companyName });
    for (const name of ['L', 'L'.repeat(200)])
      expect((await accepted(company(name))).companyName).toBe(name);
    expect(await problemsWith(company(''))).toEqual(['companyName validation_min_length']);
    expect(await problemsWith(company('L'.repeat(201)))).toEqual([
      'companyName validation_max_length',
    ]);
  });

  it('party-input-7 takes an e-mail address of 254 characters and none longer', async () => {
    const address = (length: number) => {
      const end = '.example.com';
      const local = `${randomUUID()}@`;
      const label = 'd'.repeat(60);
      const host = `${label}.${label}.${label}.`;
      return `${local}${host}${'d'.repeat(length - local.length - host.length - end.length)}${end}`;
    };
    expect(address(254)).toHaveLength(254);
    expect((await accepted({ email: address(254) })).email).toHaveLength(254);
    expect(await problemsWith({ email: address(255) })).toEqual(['email validation_max_length']);
  });

  it('party-input-8 takes an account number of 4 to 17 digits', async () => {
    for (const digits of ['4711', '12345678901234567'])
      await createContact(account({ achAccountNumber: digits }));
    for (const wrong of ['471', '123456789012345678', '12 34', 'ABCD12', '-1234', '12.34'])
      expect(await problemsWith(account({ achAccountNumber: wrong }))).toEqual([
        'bankAccount.achAccountNumber validation_account_number',
      ]);
  });

  it('party-input-9 takes a routing number of nine digits whose checksum is right', async () => {
    for (const right of [routingNumber, otherRoutingNumber])
      await createContact(account({ achRoutingNumber: right }));
    for (const wrong of ['021000022', '02100002', '0210000210', '000000000', 'ABCDEFGHI'])
      expect(await problemsWith(account({ achRoutingNumber: wrong }))).toEqual([
        'bankAccount.achRoutingNumber validation_routing_number',
      ]);
  });

  it('party-input-10 takes a swiftCode of 8 or 11 characters', async () => {
    for (const [swiftCode, shown] of [
      ['BOFAUS3N', '****US3N'],
      ['BOFAUS3NXXX', '*******NXXX'],
    ] as const)
      expect((await accepted(account({ swiftCode }))).bankAccount?.swiftCode).toBe(shown);
    for (const swiftCode of ['BOFAUS3', 'BOFAUS3NX', 'BOFAUS3NXX', 'BOFAUS3NXXXX', '12345678'])
      expect(await problemsWith(account({ swiftCode }))).toEqual([
        'bankAccount.swiftCode validation_swift_code',
      ]);
  });
});

describe('Updates of a contact', () => {
  const patched = async (contactId: string, body: unknown) => {
    const answer = await data<Contact>(200, 'PATCH', `/v1/contacts/${contactId}`, { body });
    expect(await contactOf(contactId)).toEqual(answer);
    return answer;
  };

  it('party-input-11 take any field of the create request but originatorId and entityType', async () => {
    const contactId = await createContact();
    const changes: readonly Json[] = [
      { firstName: 'Grace' },
      { lastName: 'Hopper' },
      { email: `grace.${randomUUID()}@example.com` },
      { phoneNumber: '+12125550123' },
      { legalAddress },
    ];
    for (const change of changes) expect(await patched(contactId, change)).toMatchObject(change);
    const moved = { bankAccount: bankAccount('8888') };
    expect((await patched(contactId, moved)).bankAccount?.achAccountNumber).toBe('********8888');
    const before = await contactOf(contactId);
    const fixed = { originatorId: await secondOriginatorId(), entityType: 'BUSINESS' };
    expect(await patched(contactId, fixed)).toMatchObject({
      originatorId: before.originatorId,
      entityType: 'INDIVIDUAL',
    });
  });

  it('party-input-12 replace legalAddress and bankAccount as a whole', async () => {
    const contactId = await createContact({
      legalAddress,
      ...account({ swiftCode: 'BOFAUS3N' }),
    });
    const part = { legalAddress: { city: 'Albany' }, bankAccount: { subType: 'SAVINGS' } };
    expect(problemsOf(await patch(contactId, part))).toEqual([
      'bankAccount.achAccountNumber validation_required',
      'bankAccount.achRoutingNumber validation_required',
      'legalAddress.addressLine1 validation_required',
      'legalAddress.countryCode validation_required',
      'legalAddress.postalCode validation_required',
      'legalAddress.state validation_required',
    ]);
    // The new account has no swiftCode: nothing of the old one is kept.
    const { bankAccount: shown } = await patched(contactId, { bankAccount: bankAccount('7777') });
    expect(shown).toMatchObject({ achAccountNumber: '********7777', swiftCode: null });
    const there = { ...legalAddress, city: 'Toronto', state: 'Ontario', countryCode: 'CA' };
    expect((await patched(contactId, { legalAddress: there })).legalAddress).toEqual(there);
  });

  it('party-input-13 clear phoneNumber, legalAddress and bankAccount with null', async () => {
    const contactId = await createContact({ phoneNumber: '+12125550123', legalAddress });
    for (const field of ['phoneNumber', 'legalAddress', 'bankAccount'] as const) {
      expect((await contactOf(contactId))[field]).not.toBeNull();
      expect((await patched(contactId, { [field]: null }))[field]).toBeNull();
    }
    expect(problemsOf(await patch(contactId, { email: null, firstName: null }))).toEqual([
      'email validation_required',
      'firstName validation_required',
    ]);
  });

  it('party-input-14 change nothing when they are empty', async () => {
    const contactId = await createContact({ legalAddress });
    const before = await contactOf(contactId);
    expect(await patched(contactId, {})).toEqual(before);
    const unknown = await patched(contactId, { color: 'blue' });
    expect(unknown).toEqual(before);
  });
});

describe('The same contact', () => {
  it('party-input-15 has originator, type, name, e-mail in any case and bank account in common', async () => {
    const first = await contactBody();
    expect((await post(first)).status).toBe(201);
    const email = String(first['email']);
    const same = [
      { email: email.toUpperCase() },
      { phoneNumber: '+12125550123' },
      { legalAddress },
    ];
    for (const changes of same) expectError(await post({ ...first, ...changes }), 409, 'CONFLICT');
    const account = first['bankAccount'] as Json;
    const others: readonly Json[] = [
      { originatorId: await secondOriginatorId() },
      { entityType: 'BUSINESS', companyName: 'Lovelace Ltd' },
      { firstName: 'Augusta' },
      { lastName: 'King' },
      { email: `other.${email}` },
      { bankAccount: { ...account, achAccountNumber: accountNumber() } },
      { bankAccount: { ...account, subType: 'SAVINGS' } },
      { bankAccount: null },
    ];
    for (const changes of others)
      expect([changes, (await post({ ...first, ...changes })).status]).toEqual([changes, 201]);
  });

  it('party-input-16 is a conflict to create or to patch into, also at the same time', async () => {
    const body = await contactBody();
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([
      201,
      ...Array.from({ length: 19 }, () => 409),
    ]);
    const other = await createContact({ ...body, lastName: 'King' });
    expectError(await patch(other, { lastName: body['lastName'] }), 409, 'CONFLICT');
    expect((await contactOf(other)).lastName).toBe('King');

    const few: string[] = [];
    for (const lastName of ['Aiken', 'Bartik', 'Curie', 'Darwin', 'Euler'])
      few.push(await createContact({ ...body, lastName }));
    const patches = await Promise.all(few.map((id) => patch(id, { lastName: 'Noether' })));
    expect(patches.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409]);
    const all = await data<Contact[]>(200, 'GET', '/v1/contacts/');
    const named = all.filter((each) => few.includes(each.contactId) && each.lastName === 'Noether');
    expect(named).toHaveLength(1);
  });
});
