/** Each validation code over HTTP, caused by a request with no other problem. */
import { type Answer, call, problemsOf } from '../support/http.js';
import {
  bankAccount,
  contactBody,
  createContact,
  deleteEndpoint,
  type Json,
  paymentBody,
  postPayment,
  secondOriginatorId,
} from '../support/things.js';

const contact = async (changes: Json) =>
  call('POST', '/v1/contacts/', { body: await contactBody(changes) });
const account = (changes: Json) => contact({ bankAccount: { ...bankAccount(), ...changes } });
const address = (changes: Json) =>
  contact({
    legalAddress: {
      addressLine1: '12 Analytical Street',
      city: 'New York',
      state: 'NY',
      postalCode: '10001',
      countryCode: 'US',
      ...changes,
    },
  });
const payment = async (changes: Json) => postPayment({ ...(await paymentBody()), ...changes });
const list = (query: string) => call('GET', `/v1/payments/?${query}`);
const webhook = (changes: Json) =>
  call('POST', '/v1/webhooks', {
    body: { url: 'https://receiver.invalid/', subscribedEvents: ['payment.completed'], ...changes },
  });

/** The answer to one endpoint too many. Deletes the endpoints before it. */
async function oneTooMany(): Promise<Answer> {
  const ids: string[] = [];
  try {
    for (;;) {
      const answer = await webhook({});
      if (answer.status !== 201) return answer;
      ids.push((answer.body.data as { id: string }).id);
    }
  } finally {
    for (const id of ids) await deleteEndpoint(id);
  }
}

const provocations: Readonly<Record<string, readonly [field: string, () => Promise<Answer>]>> = {
  validation_required: ['email', () => contact({ email: undefined })],
  validation_type: ['firstName', () => contact({ firstName: 7 })],
  validation_uuid: ['paymentId', () => call('GET', '/v1/payments/7')],
  validation_enum: ['direction', () => payment({ direction: 'outbound' })],
  validation_min_length: ['externalPaymentId', () => payment({ externalPaymentId: '' })],
  validation_max_length: ['paymentNote', () => payment({ paymentNote: 'n'.repeat(501) })],
  validation_min: ['paymentAmount', () => payment({ paymentAmount: 0 })],
  validation_max: ['paymentAmount', () => payment({ paymentAmount: 100_000_000_000 })],
  validation_integer: ['paymentAmount', () => payment({ paymentAmount: 10.5 })],
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
  validation_datetime: ['createdFrom', () => list('createdFrom=yesterday')],
  validation_date_range: ['createdTo', () => list('createdFrom=2026-03-02&createdTo=2026-03-01')],
  validation_cursor: ['cursor', () => list('cursor=made-up')],
  validation_url: ['url', () => webhook({ url: 'nonsense' })],
  validation_url_https: ['url', () => webhook({ url: 'http://receiver.invalid/' })],
  validation_url_credentials: ['url', () => webhook({ url: 'https://me:pw@receiver.invalid/' })],
  validation_url_private_address: ['url', () => webhook({ url: 'https://10.0.0.1/' })],
  validation_event_type: ['subscribedEvents.0', () => webhook({ subscribedEvents: ['*'] })],
  validation_subscription_limit: ['subscribedEvents', oneTooMany],
  validation_contact_originator_mismatch: [
    'contactId',
    async () => {
      const originatorId = await secondOriginatorId();
      return payment({ contactId: await createContact({ originatorId }) });
    },
  ],
  validation_contact_bank_account_required: [
    'contactId',
    async () => payment({ contactId: await createContact({ bankAccount: null }) }),
  ],
};

describe('Validation codes', () => {
  it('validation-1 are these and mean what they say', async () => {
    expect(Object.keys(provocations)).toHaveLength(28);
    for (const [code, [field, provoke]] of Object.entries(provocations)) {
      const answer = await provoke();
      expect([code, ...problemsOf(answer)]).toEqual([code, `${field} ${code}`]);
      expect(answer.body.error?.details?.[0]?.message).toContain(field);
    }
  });

  it('validation-2 are reported all at once, each with its dotted field', async () => {
    const bad = { subType: 'LOAN', achRoutingNumber: '021000022', achAccountNumber: 'x' };
    expect(
      problemsOf(await contact({ email: 'x', firstName: '', legalAddress: {}, bankAccount: bad })),
    ).toEqual([
      'bankAccount.achAccountNumber validation_account_number',
      'bankAccount.achRoutingNumber validation_routing_number',
      'bankAccount.subType validation_enum',
      'email validation_email',
      'firstName validation_min_length',
      'legalAddress.addressLine1 validation_required',
      'legalAddress.city validation_required',
      'legalAddress.countryCode validation_required',
      'legalAddress.postalCode validation_required',
      'legalAddress.state validation_required',
    ]);
    expect(problemsOf(await payment({ paymentAmount: 0.5, direction: null }))).toEqual([
      'direction validation_required',
      'paymentAmount validation_integer',
      'paymentAmount validation_min',
    ]);
    const events = ['payment.failed', '*', 'payment.done'];
    expect(
      problemsOf(await webhook({ url: 'http://x.invalid/', label: '', subscribedEvents: events })),
    ).toEqual([
      'label validation_min_length',
      'subscribedEvents.1 validation_event_type',
      'subscribedEvents.2 validation_event_type',
      'url validation_url_https',
    ]);
    const mismatch = { originatorId: await secondOriginatorId(), bankAccount: null };
    expect(problemsOf(await payment({ contactId: await createContact(mismatch) }))).toEqual([
      'contactId validation_contact_bank_account_required',
      'contactId validation_contact_originator_mismatch',
    ]);
  });
});
