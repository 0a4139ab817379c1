/** Each validation code of the API, caused by a request with no other problem. */
import { randomUUID } from 'node:crypto';
import { createOriginator, unrefused } from '@pis/commands';
import { type ValidationCode, validationCodes } from '@pis/contracts';
import { createTestDatabase, type TestDatabase } from '@pis/local-servers/testing';
import {
  bankAccount,
  by,
  type Call,
  contactBody,
  createContact,
  type Gateway,
  keyring,
  startGateway,
} from './testing/gateway.js';
import { codeOf, createPayer, issuesOf, type Payer } from './testing/payments.js';

let database: TestDatabase;
let gateway: Gateway;
let payer: Payer;

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await startGateway({ databaseUrl: database.url });
  payer = await createPayer(gateway);
});
afterAll(async () => {
  await gateway?.close();
  await database?.drop();
});

const call = (path: string, options: Call = {}) =>
  gateway.call(path, { tenant: payer.tenant, ...options });
const post = (path: string, body: unknown) => call(path, { method: 'POST', body });

const anotherOriginator = async () => {
  const { organizationId } = payer.tenant;
  const input = { entityType: 'BUSINESS', companyName: 'B', email: 'b@x.example', bankAccount };
  const options = { organizationId, input, keyring };
  return unrefused(await createOriginator({ store: gateway.store, by }, options)).originatorId;
};

const contact = (changes: object) => post('/v1/contacts/', contactBody(payer.tenant, changes));
const account = (changes: object) => contact({ bankAccount: { ...bankAccount, ...changes } });
const address = (changes: object) =>
  contact({
    legalAddress: {
      addressLine1: '1 Main Street',
      city: 'New York',
      state: 'NY',
      postalCode: '10001',
      countryCode: 'US',
      ...changes,
    },
  });
const pay = (changes: object) => payer.pay({ body: payer.body(changes) });
const webhook = (changes: object) =>
  post('/v1/webhooks', {
    url: 'https://203.0.113.7/',
    subscribedEvents: ['payment.*'],
    ...changes,
  });

type Provocation = readonly [field: string, request: () => ReturnType<typeof call>];

const provocations: Readonly<Record<ValidationCode, Provocation>> = {
  validation_required: ['email', () => contact({ email: null })],
  validation_type: ['firstName', () => contact({ firstName: 7 })],
  validation_uuid: ['paymentId', () => call('/v1/payments/7')],
  validation_enum: ['direction', () => pay({ direction: 'outbound' })],
  validation_min_length: ['externalPaymentId', () => pay({ externalPaymentId: '' })],
  validation_max_length: ['paymentNote', () => pay({ paymentNote: 'x'.repeat(501) })],
  validation_min: ['paymentAmount', () => pay({ paymentAmount: 0 })],
  validation_max: ['paymentAmount', () => pay({ paymentAmount: 100_000_000_000 })],
  validation_integer: ['paymentAmount', () => pay({ paymentAmount: 10.5 })],
  validation_email: ['email', () => contact({ email: 'ada' })],
  validation_phone_number: ['phoneNumber', () => contact({ phoneNumber: '212-555-0123' })],
  validation_postal_code: ['legalAddress.postalCode', () => address({ postalCode: '1000' })],
  validation_state: ['legalAddress.state', () => address({ state: 'New York' })],
  validation_country_code: ['legalAddress.countryCode', () => address({ countryCode: 'USA' })],
  validation_routing_number: [
    'bankAccount.achRoutingNumber',
    () => account({ achRoutingNumber: '021000022' }),
  ],
  validation_account_number: [
    'bankAccount.achAccountNumber',
    () => account({ achAccountNumber: '123' }),
  ],
  validation_swift_code: ['bankAccount.swiftCode', () => account({ swiftCode: 'CHASUS3' })],
  validation_datetime: ['createdFrom', () => payer.list('?createdFrom=yesterday')],
  validation_date_range: [
    'createdTo',
    () => payer.list('?createdFrom=2026-03-02&createdTo=2026-03-01'),
  ],
  validation_cursor: ['cursor', () => payer.list('?cursor=made-up')],
  validation_url: ['url', () => webhook({ url: 'nonsense' })],
  validation_url_https: ['url', () => webhook({ url: 'http://203.0.113.7/' })],
  validation_url_credentials: ['url', () => webhook({ url: 'https://me:pw@203.0.113.7/' })],
  validation_url_private_address: ['url', () => webhook({ url: 'https://10.0.0.1/' })],
  validation_event_type: ['subscribedEvents.0', () => webhook({ subscribedEvents: ['*'] })],
  validation_subscription_limit: [
    'subscribedEvents',
    async () => {
      for (let count = 0; count < 5; count += 1) await webhook({});
      return webhook({ subscribedEvents: ['payment.queued'] });
    },
  ],
  validation_contact_originator_mismatch: [
    'contactId',
    async () => {
      const originatorId = await anotherOriginator();
      const contactId = await createContact(gateway, payer.tenant, { originatorId });
      return pay({ contactId });
    },
  ],
  validation_contact_bank_account_required: [
    'contactId',
    async () => {
      const bare = { email: 'bare@x.example', bankAccount: null };
      return pay({ contactId: await createContact(gateway, payer.tenant, bare) });
    },
  ],
};

it.each(Object.entries(provocations))('%s', async (code, [field, request]) => {
  const reply = await request();
  expect(codeOf(reply)).toBe('400 VALIDATION_ERROR');
  expect(issuesOf(reply)).toEqual([`${field} ${code}`]);
  expect(reply.body?.error?.details).toEqual([
    { field, issue: code, message: expect.stringContaining(field) as string },
  ]);
});

it('there are no other codes', () => {
  expect(Object.keys(provocations).toSorted()).toEqual(validationCodes.toSorted());
});

it('all problems of a request are reported at once, also those of the contact together', async () => {
  const body = { originatorId: 1, paymentAmount: 0.5, direction: null, externalPaymentId: '' };
  expect(issuesOf(await post('/v1/contacts/', { bankAccount: {}, legalAddress: [] }))).toEqual([
    'originatorId validation_required',
    'entityType validation_required',
    'email validation_required',
    'legalAddress validation_type',
    'bankAccount.subType validation_required',
    'bankAccount.achRoutingNumber validation_required',
    'bankAccount.achAccountNumber validation_required',
  ]);
  expect(issuesOf(await payer.pay({ key: randomUUID(), body }))).toEqual([
    'originatorId validation_type',
    'contactId validation_required',
    'paymentAmount validation_integer',
    'paymentAmount validation_min',
    'direction validation_required',
    'externalPaymentId validation_min_length',
  ]);
  const originatorId = await anotherOriginator();
  const bare = { originatorId, email: 'both@x.example', bankAccount: null };
  expect(
    issuesOf(await pay({ contactId: await createContact(gateway, payer.tenant, bare) })),
  ).toEqual([
    'contactId validation_contact_originator_mismatch',
    'contactId validation_contact_bank_account_required',
  ]);
});
