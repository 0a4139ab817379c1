import type { Contact } from '@pis/client';
import { call, data, expectError, problemsOf } from '../support/http.js';
import {
  contactBody,
  contactOf,
  createContact,
  originatorId,
  originators,
  unknownId,
} from '../support/things.js';

describe('GET /v1/originators/', () => {
  it('originator-list-1 answers with a list and meta', async () => {
    const { status, body } = await call('GET', '/v1/originators/');
    expect(status).toBe(200);
    expect(body).toEqual({ data: expect.any(Array), meta: { timestamp: expect.any(String) } });
  });

  it('originator-list-2 shows whether a key is valid', async () => {
    expect((await call('GET', '/v1/originators/')).status).toBe(200);
    const headers = { authorization: 'Bearer pis_test_0123456789abcdef0123456789abcdef' };
    expectError(await call('GET', '/v1/originators/', { as: null, headers }), 401, 'UNAUTHORIZED');
  });
});

describe('POST /v1/contacts/', () => {
  it('contact-creation-3 answers 409 to a contact that exists, and makes no second one', async () => {
    const body = await contactBody();
    const contactId = (await data<{ contactId: string }>(201, 'POST', '/v1/contacts/', { body }))
      .contactId;
    expectError(await call('POST', '/v1/contacts/', { body }), 409, 'CONFLICT');
    const all = await data<Contact[]>(200, 'GET', '/v1/contacts/');
    expect(all.filter(({ email }) => email === body['email'])).toMatchObject([{ contactId }]);
  });

  it('contact-creation-4 answers 400 VALIDATION_ERROR with details to what is not valid', async () => {
    const body = { ...(await contactBody()), firstName: '', email: 'nobody' };
    expect(problemsOf(await call('POST', '/v1/contacts/', { body }))).toEqual([
      'email validation_email',
      'firstName validation_min_length',
    ]);
    expectError(await call('POST', '/v1/contacts/', { body: [] }), 400, 'VALIDATION_ERROR');
  });
});

describe('GET /v1/contacts/', () => {
  it('contact-creation-5 filters by originatorId', async () => {
    const [first, second] = await originators();
    const contactId = await createContact();
    const ids = async (originator: string | undefined) => {
      const path = `/v1/contacts/?originatorId=${originator ?? unknownId}`;
      const contacts = await data<Contact[]>(200, 'GET', path);
      for (const contact of contacts) expect(contact.originatorId).toBe(originator);
      return contacts.map((contact) => contact.contactId);
    };
    expect(first?.originatorId).toBe(await originatorId());
    expect(await ids(first?.originatorId)).toContain(contactId);
    if (second) expect(await ids(second.originatorId)).not.toContain(contactId);
    expect(problemsOf(await call('GET', '/v1/contacts/?originatorId=x'))).toEqual([
      'originatorId validation_uuid',
    ]);
  });
});

describe('PATCH /v1/contacts/:id and PATCH /v1/originators/:id', () => {
  it('patch-1 applies the patch to a contact, once however often it is sent', async () => {
    const contactId = await createContact({ phoneNumber: '+12125550123' });
    const body = { firstName: 'Grace', phoneNumber: null };
    const path = `/v1/contacts/${contactId}`;
    const first = await data<Contact>(200, 'PATCH', path, { body });
    expect(first).toMatchObject({ firstName: 'Grace', lastName: 'Lovelace', phoneNumber: null });
    expect(await data(200, 'PATCH', path, { body })).toEqual(first);
    expect(await contactOf(contactId)).toEqual(first);
    expectError(await call('PATCH', `/v1/contacts/${unknownId}`, { body }), 404, 'NOT_FOUND');
  });
});

describe('GET /v1/statements', () => {
  it('statement-read-1 answers with a list, filtered by originatorId and year', async () => {
    const list = (query: string) => call('GET', `/v1/statements${query}`);
    for (const query of ['', `?originatorId=${await originatorId()}`, '?year=2026'])
      expect((await list(query)).body).toMatchObject({ data: expect.any(Array) });
    const nobody = await list(`?originatorId=${unknownId}&year=2026`);
    expect(nobody.body.data).toEqual([]);
    expect(problemsOf(await list('?originatorId=x&year=last'))).toEqual([
      'originatorId validation_uuid',
      'year validation_integer',
    ]);
  });
});
