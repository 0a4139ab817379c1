/** Originators and contacts as they are listed and patched. */
import type { Contact, Originator } from '@pis/client';
import { call, data, expectError, problemsOf } from '../support/http.js';
import {
  contactOf,
  createContact,
  isoTime,
  originatorId,
  originators,
  unknownId,
  uuid,
} from '../support/things.js';

const fields = [
  'entityType',
  'firstName',
  'lastName',
  'companyName',
  'email',
  'phoneNumber',
  'legalAddress',
  'bankAccount',
  'createdAt',
  'updatedAt',
];
const maskedAccount = {
  bankName: expect.anything(),
  subType: expect.stringMatching(/^(CHECKING|SAVINGS)$/),
  achRoutingNumber: expect.stringMatching(/^\*{5}\d{4}$/),
  achAccountNumber: expect.stringMatching(/^\*+\d{2,4}$/),
};

const patch = (path: string, body: unknown) => data<object>(200, 'PATCH', path, { body });

describe('Originator', () => {
  it('originator-item-1 has its fields in the list and in the PATCH response', async () => {
    const listed = await originators();
    const first = listed[0]?.originatorId ?? '';
    const patched = (await patch(`/v1/originators/${first}`, {})) as Originator;
    for (const originator of [...listed, patched]) {
      expect(Object.keys(originator).sort()).toEqual(['originatorId', ...fields].sort());
      expect(originator.originatorId).toMatch(uuid);
      expect(originator.bankAccount).toMatchObject(maskedAccount);
      expect(originator.createdAt).toMatch(isoTime);
      expect(originator.updatedAt).toMatch(isoTime);
    }
  });

  it('originator-item-2 is patched like a contact', async () => {
    const path = `/v1/originators/${await originatorId()}`;
    const before = (await patch(path, {})) as Originator;
    try {
      const patched = await patch(path, { phoneNumber: '+12125550199' });
      expect(patched).toEqual({
        ...before,
        phoneNumber: '+12125550199',
        updatedAt: expect.any(String),
      });
      expect(await patch(path, { phoneNumber: '+12125550199' })).toEqual(patched);
      expect((await originators())[0]).toEqual(patched);
      expect(await patch(path, { phoneNumber: null })).toMatchObject({ phoneNumber: null });
      expect(problemsOf(await call('PATCH', path, { body: { email: 'x' } }))).toEqual([
        'email validation_email',
      ]);
    } finally {
      await patch(path, { phoneNumber: before.phoneNumber });
    }
    const nobody = await call('PATCH', `/v1/originators/${unknownId}`, { body: {} });
    expectError(nobody, 404, 'NOT_FOUND');
  });
});

describe('Contact', () => {
  it('contact-item-1 has its fields in the list and in the PATCH response', async () => {
    const contactId = await createContact();
    const patched = (await patch(`/v1/contacts/${contactId}`, {})) as Contact;
    for (const contact of [await contactOf(contactId), patched]) {
      expect(Object.keys(contact).sort()).toEqual(['contactId', 'originatorId', ...fields].sort());
      expect(contact).toMatchObject({ contactId, bankAccount: maskedAccount });
    }
    const bare = await contactOf(await createContact({ bankAccount: undefined }));
    expect(bare.bankAccount).toBeNull();
  });

  it('contact-item-2 is listed newest first, with all others, unless paging is asked for', async () => {
    const newest: string[] = [];
    for (let n = 0; n < 3; n += 1) newest.unshift(await createContact());
    const lists = [
      await call('GET', '/v1/contacts/'),
      await call('GET', `/v1/contacts/?originatorId=${await originatorId()}`),
    ];
    for (const { body } of lists) {
      const contacts = body.data as Contact[];
      expect(contacts.slice(0, 3).map(({ contactId }) => contactId)).toEqual(newest);
      expect(times(contacts)).toEqual(times(contacts).sort().reverse());
    }
    const everything = lists[0]?.body.data as Contact[];
    expect(everything).toEqual(await inPages('/v1/contacts/', 50));
    const all = await originators();
    expect(times(all)).toEqual(times(all).sort().reverse());
    expect(all).toEqual(await inPages('/v1/originators/', 1));
  });

  it('contact-item-3 is paged by limit and cursor as payments are, and only then with pagination', async () => {
    await createContact();
    await createContact();
    for (const path of ['/v1/contacts/', '/v1/originators/']) {
      expect((await call('GET', path)).body.meta).toEqual({
        timestamp: expect.stringMatching(isoTime),
      });
      const first = await call('GET', `${path}?limit=1`);
      expect(first.body.data).toHaveLength(1);
      const nextCursor = first.body.meta?.pagination?.nextCursor ?? '';
      expect(first.body.meta?.pagination).toEqual({ limit: 1, nextCursor: expect.any(String) });
      const second = await call('GET', `${path}?cursor=${encodeURIComponent(nextCursor)}`);
      expect(second.body.meta?.pagination).toMatchObject({ limit: expect.any(Number) });
      expect(second.body.data).not.toEqual(expect.arrayContaining(first.body.data as object[]));
      for (const wrong of ['0', '101', 'ten'])
        expectError(await call('GET', `${path}?limit=${wrong}`), 400, 'VALIDATION_ERROR');
      expect(problemsOf(await call('GET', `${path}?cursor=made-up`))).toEqual([
        'cursor validation_cursor',
      ]);
    }
  });
});

const times = (records: readonly { readonly createdAt: string }[]) =>
  records.map(({ createdAt }) => createdAt);

async function inPages(path: string, limit: number): Promise<unknown[]> {
  const found: unknown[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const more: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { body } = await call('GET', `${path}?limit=${limit}${more}`);
    found.push(...(body.data as unknown[]));
    cursor = body.meta?.pagination?.nextCursor ?? null;
  }
  return found;
}
