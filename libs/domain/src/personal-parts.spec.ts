import {
  type ContactEvent,
  type DomainEvent,
  hasPersonalData,
  openedData,
  ownerOfStream,
  personalData,
  personalFields,
  personalPartsOf,
  type PrivacyOf,
  storedForm,
  withoutErased,
  sealedData,
  sealedText,
} from './index.js';
import { contactExample, ids, originatorExample, paymentEvents } from './testing.js';

const contactStream = `contact-${ids.contact}`;
const originatorStream = `originator-${ids.originator}`;
const paymentStream = `payment-${ids.payment}`;
const changes = { email: 'ada@other.example', bankAccount: null };

const events = [
  { streamId: contactStream, type: 'ContactCreated', data: { ...contactExample() } },
  { streamId: contactStream, type: 'ContactUpdated', data: { changes, identity: 'identity-2' } },
  { streamId: originatorStream, type: 'OriginatorCreated', data: { ...originatorExample() } },
  { streamId: originatorStream, type: 'OriginatorUpdated', data: { changes } },
  { streamId: paymentStream, ...paymentEvents.queued, data: { ...paymentEvents.queued.data } },
  { streamId: paymentStream, ...paymentEvents.awaiting, data: { ...paymentEvents.awaiting.data } },
  {
    streamId: `user-${ids.contact}`,
    type: 'UserCreated',
    data: {
      userId: ids.contact,
      organizationId: ids.organization,
      email: 'ada@board.example',
      role: 'admin',
    },
  },
  {
    streamId: `userAction-${ids.payment}`,
    type: 'UserActionStarted',
    data: {
      ...{ actionId: ids.payment, organizationId: ids.organization, userId: ids.contact },
      ...{ action: 'signIn', subject: {} },
      client: { userId: ids.contact, address: '203.0.113.1', userAgent: 'Browser/1' },
    },
  },
];

type Event = (typeof events)[number];

/** In place of ciphers. */
const sealed = (event: Event) => {
  const parts = personalPartsOf(event);
  const texts = parts.map((_, index) => `sealed-${index}`);
  return { ...event, data: sealedData(event.data, parts, texts) };
};

it.each(events)('$type has its plain shape again once it is opened', (event) => {
  const personal = personalPartsOf(event).map(personalFields);
  const stored = sealed(event);
  const parts = personalPartsOf(stored);
  expect(parts.map(sealedText)).toEqual(parts.map((_, index) => `sealed-${index}`));
  expect(parts.length).toBeGreaterThan(0);
  expect(openedData(stored.data, parts, personal)).toEqual(event.data);
});

it.each(events)('$type of an erased party has nulls in its personal fields', (event) => {
  const stored = sealed(event);
  const parts = personalPartsOf(stored);
  const erased = openedData(
    stored.data,
    parts,
    parts.map(() => null),
  );
  for (const part of personalPartsOf({ ...event, data: erased })) {
    expect(new Set(Object.values(personalFields(part)))).toEqual(new Set([null]));
    expect(part.object).toMatchObject({ erased: true });
  }
});

it.each(events)('$type in plain text has nulls for the parties that were erased', (event) => {
  const [first, ...others] = personalPartsOf(event);
  const parts = personalPartsOf(event);
  const data = withoutErased(event.data, parts, (owner) => owner === first?.owner);
  const [nulls, ...kept] = personalPartsOf({ ...event, data });
  expect(new Set(Object.values(nulls ? personalFields(nulls) : {}))).toEqual(new Set([null]));
  expect(kept).toEqual(others);
});

it('a sealed text changes no open field', () => {
  for (const event of events) {
    const stored = sealed(event);
    const parts = personalPartsOf(stored);
    const forged = { id: 'forged', contactId: 'forged', entityType: 'forged', erased: true, x: 1 };
    const personal = personalPartsOf(event).map((part) => ({ ...personalFields(part), ...forged }));
    expect(openedData(stored.data, parts, personal)).toEqual(event.data);
  }
});

it('each party of a payment is sealed for itself', () => {
  const [, , , , queued, awaiting] = events;
  const owners = [queued, awaiting].map((e) => e && personalPartsOf(e).map(({ owner }) => owner));
  expect(owners).toEqual([
    [`originator:${ids.originator}`, `contact:${ids.contact}`],
    // The account holder of its link.
    [`originator:${ids.originator}`, `contact:${ids.contact}`],
  ]);
});

it('a field that nobody has classified is sealed', () => {
  const [created] = events;
  if (created === undefined) throw new Error('no example');
  const event = { ...created, data: { ...created.data, dateOfBirth: '1990-01-01' } };
  const stored = sealedData(event.data, personalPartsOf(event), ['sealed-0']);
  expect(JSON.stringify(stored)).not.toContain('1990-01-01');
});

it('schema version 1 was stored in plain text', () => {
  expect(storedForm(contactStream, 'ContactCreated', 1)).toBe('plain');
  expect(storedForm(contactStream, 'ContactCreated', 2)).toBe('sealed');
  expect(storedForm(contactStream, 'ContactIdentityForfeited', 1)).toBeNull();
  expect(storedForm(paymentStream, 'PaymentProcessing', 1)).toBeNull();
  expect(storedForm(paymentStream, 'PaymentQueued', undefined)).toBeNull();
  expect(storedForm('other-1', 'PaymentQueued', 2)).toBeNull();
});

it('a new event does not compile until its fields are classified', () => {
  type Noted = DomainEvent<'ContactNoted', { readonly note: string }>;
  type New = PrivacyOf<ContactEvent | Noted>;
  // @ts-expect-error It does not say what ContactNoted holds.
  const unclassified: New = personalData.contact;
  // @ts-expect-error It does not say whether the note is personal.
  const incomplete: New = { ...personalData.contact, ContactNoted: { parts: {} } };
  const complete: New = { ...personalData.contact, ContactNoted: { parts: { note: 'open' } } };
  expect([unclassified, incomplete, complete]).toHaveLength(3);
});

it('a party without a usable id is refused', () => {
  const [, , , , queued] = events;
  if (queued === undefined) throw new Error('no example');
  for (const id of [undefined, 7, '', 'a\u0000b', 'a b']) {
    const event = { ...queued, data: { ...queued.data, contact: { id } } };
    expect(() => personalPartsOf(event)).toThrow('no usable id');
  }
});

it('the record of a stream belongs to its party', () => {
  expect(ownerOfStream(contactStream)).toBe(`contact:${ids.contact}`);
  expect(ownerOfStream(originatorStream)).toBe(`originator:${ids.originator}`);
  expect(ownerOfStream(`user-${ids.contact}`)).toBe(`user:${ids.contact}`);
  expect(ownerOfStream(paymentStream)).toBeNull();
});

it('knows which categories have personal data', () => {
  expect(['contact', 'originator', 'payment'].map(hasPersonalData)).toEqual([true, true, true]);
  expect(['organization', 'apiKey', 'toString'].map(hasPersonalData)).toEqual([
    false,
    false,
    false,
  ]);
});

it('a party without a sealed text is refused', () => {
  for (const part of events.flatMap((event) => personalPartsOf(event)))
    expect(() => sealedText(part)).toThrow('is not sealed');
});
