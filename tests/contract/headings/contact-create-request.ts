import { call, data, problemsOf } from '../support/http.js';
import {
  bankAccount,
  contactBody,
  contactOf,
  createContact,
  createPayment,
  getPayment,
  isoTime,
  type Json,
  originatorId,
  routingNumber,
  unknownId,
  uuid,
} from '../support/things.js';

/** The problems of a contact that is right but for `changes`. */
async function problemsWith(changes: Json): Promise<string[]> {
  return problemsOf(await call('POST', '/v1/contacts/', { body: await contactBody(changes) }));
}

describe('Contact (create request)', () => {
  it('contact-create-1 creates the contact for the originator that originatorId names', async () => {
    const contact = await contactOf(await createContact());
    expect(contact.originatorId).toBe(await originatorId());
    expect(await problemsWith({ originatorId: 'x' })).toEqual(['originatorId validation_uuid']);
    const body = await contactBody({ originatorId: unknownId });
    expect((await call('POST', '/v1/contacts/', { body })).status).toBe(404);
  });

  it('contact-create-2 knows the entity types INDIVIDUAL and BUSINESS and no other', async () => {
    const business = { entityType: 'BUSINESS', companyName: 'Lovelace Ltd' };
    expect((await contactOf(await createContact())).entityType).toBe('INDIVIDUAL');
    expect((await contactOf(await createContact(business))).entityType).toBe('BUSINESS');
    expect(await problemsWith({ entityType: 'TRUST' })).toEqual(['entityType validation_enum']);
  });

  it('contact-create-3 keeps the firstName of an individual', async () => {
    const contact = await contactOf(await createContact({ firstName: 'Grace' }));
    expect(contact).toMatchObject({ firstName: 'Grace', companyName: null });
  });

  it('contact-create-4 keeps the lastName of an individual', async () => {
    const contact = await contactOf(await createContact({ lastName: 'Hopper' }));
    expect(contact).toMatchObject({ lastName: 'Hopper', companyName: null });
  });

  it('contact-create-5 keeps the companyName of a business, and payments show it', async () => {
    const body = { entityType: 'BUSINESS', companyName: 'Hopper & Co', firstName: undefined };
    const contactId = await createContact({ ...body, lastName: undefined });
    expect((await contactOf(contactId)).companyName).toBe('Hopper & Co');
    const payment = await getPayment(await createPayment({ contactId }));
    expect(payment.contact).toMatchObject({ companyName: 'Hopper & Co', entityType: 'BUSINESS' });
  });

  it('contact-create-6 refuses a missing e-mail address with a rule code', async () => {
    expect(await problemsWith({ email: undefined })).toEqual(['email validation_required']);
    expect(await problemsWith({ email: 'ada' })).toEqual(['email validation_email']);
  });

  it('contact-create-7 takes a phone number with a plus sign and a country code only', async () => {
    const phoneNumber = '+12125550123';
    expect((await contactOf(await createContact({ phoneNumber }))).phoneNumber).toBe(phoneNumber);
    for (const wrong of ['2125550123', '+02125550123', '+1 212 555 0123', 'phone'])
      expect(await problemsWith({ phoneNumber: wrong })).toEqual([
        'phoneNumber validation_phone_number',
      ]);
  });

  it('contact-create-8 takes a legal address, of the US with a five-digit ZIP', async () => {
    const legalAddress = {
      addressLine1: '12 Analytical Street',
      city: 'New York',
      state: 'NY',
      postalCode: '10001',
      countryCode: 'US',
    };
    expect((await contactOf(await createContact({ legalAddress }))).legalAddress).toEqual(
      legalAddress,
    );
    const wrong = { ...legalAddress, postalCode: '1000', countryCode: 'USA' };
    expect(await problemsWith({ legalAddress: wrong })).toContain(
      'legalAddress.countryCode validation_country_code',
    );
    expect(await problemsWith({ legalAddress: { ...legalAddress, postalCode: '1000' } })).toEqual([
      'legalAddress.postalCode validation_postal_code',
    ]);
  });

  it('contact-create-9 takes a CHECKING or SAVINGS account with its two numbers', async () => {
    for (const subType of ['CHECKING', 'SAVINGS']) {
      const contactId = await createContact({ bankAccount: { ...bankAccount('7003'), subType } });
      expect((await contactOf(contactId)).bankAccount).toMatchObject({
        subType,
        achRoutingNumber: `*****${routingNumber.slice(-4)}`,
        achAccountNumber: '********7003',
      });
    }
    const problems = await problemsWith({ bankAccount: { subType: 'LOAN' } });
    expect(problems).toEqual([
      'bankAccount.achAccountNumber validation_required',
      'bankAccount.achRoutingNumber validation_required',
      'bankAccount.subType validation_enum',
    ]);
  });

  it('contact-create-10 answers with contactId and createdAt', async () => {
    const created = await data(201, 'POST', '/v1/contacts/', { body: await contactBody() });
    expect(created).toEqual({
      contactId: expect.stringMatching(uuid),
      createdAt: expect.stringMatching(isoTime),
    });
  });
});
