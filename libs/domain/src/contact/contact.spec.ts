import {
  at,
  bankAccountExample,
  contactExample,
  fold,
  given,
  ids,
  later,
  legalAddress,
} from '../testing.js';
import { effectiveChanges, type PartyChanges } from '../party.js';
import { contact, type ContactCommand, type ContactEvent } from './contact.js';

const notErased = { erasure: null, erasureRequest: null, correction: null, lastReturn: null };
const record = contactExample();
const created: ContactEvent = { type: 'ContactCreated', at, data: record };
const update = (changes: PartyChanges, identity = record.identity): ContactCommand => ({
  type: 'UpdateContact',
  at: later,
  data: { changes, identity },
});
const forfeit = (identity: string): ContactCommand => ({
  type: 'ForfeitContactIdentity',
  at: later,
  data: { identity },
});

describe('creating a contact', () => {
  const create: ContactCommand = { type: 'CreateContact', at: later, data: record };

  it('records all of it', () => {
    const then = given(contact).when(create);
    then.then({ type: 'ContactCreated', at: later, data: record });
    expect(then.state()).toStrictEqual({
      ...record,
      createdAt: later,
      updatedAt: later,
      ...notErased,
    });
  });

  it('happens once under one id', () => {
    given(contact, created).when(create).thenRefused('CONTACT_ALREADY_EXISTS');
  });
});

describe('updating a contact', () => {
  it('needs the contact', () => {
    given(contact).when(update({})).thenRefused('CONTACT_NOT_FOUND');
  });

  it('applies the fields that differ, moves the identity, and is a no-op when repeated', () => {
    const changes = { firstName: 'Adah', phoneNumber: '+12175550123' };
    const wish = update({ ...changes, lastName: record.lastName }, 'identity-2');
    const updated: ContactEvent = {
      type: 'ContactUpdated',
      at: later,
      data: { changes, identity: 'identity-2' },
    };
    const then = given(contact, created).when(wish);
    then.then(updated);
    expect(then.state()).toStrictEqual({
      ...record,
      ...changes,
      identity: 'identity-2',
      createdAt: at,
      updatedAt: later,
      ...notErased,
    });
    given(contact, created, updated).when(wish).thenNothing();
  });

  it.each<[string, PartyChanges]>([
    ['the phone number', { phoneNumber: null }],
    ['the address', { legalAddress: null }],
    ['the bank account', { bankAccount: null }],
  ])('clears %s with null', (_field, changes) => {
    const full: ContactEvent = {
      type: 'ContactCreated',
      at,
      data: contactExample({ phoneNumber: '+12175550100', legalAddress }),
    };
    const then = given(contact, full).when(update(changes));
    then.then({ type: 'ContactUpdated', at: later, data: { changes, identity: record.identity } });
    expect(then.state()).toMatchObject(changes);
  });

  it('adds a bank account to a contact that had none', () => {
    const bare: ContactEvent = { ...created, data: contactExample({ bankAccount: null }) };
    const changes = { bankAccount: bankAccountExample() };
    given(contact, bare)
      .when(update(changes, 'identity-2'))
      .then({ type: 'ContactUpdated', at: later, data: { changes, identity: 'identity-2' } });
  });

  it('does nothing when the patch is empty or repeats the current values', () => {
    given(contact, created).when(update({})).thenNothing();
    given(contact, created)
      .when(update({ email: record.email, bankAccount: bankAccountExample(), legalAddress: null }))
      .thenNothing();
  });
});

describe('giving up an identity that was reserved and never used', () => {
  it('moves the revision and changes no field', () => {
    const then = given(contact, created).when(forfeit('identity-2'));
    then.then({ type: 'ContactIdentityForfeited', at: later, data: { identity: 'identity-2' } });
    expect(then.state()).toStrictEqual({ ...record, createdAt: at, updatedAt: at, ...notErased });
  });

  it('is refused for the current identity of the contact', () => {
    given(contact, created).when(forfeit(record.identity)).thenRefused('IDENTITY_IN_USE');
  });

  it('is accepted for an identity that the contact once had', () => {
    const moved: ContactEvent = {
      type: 'ContactUpdated',
      at,
      data: { changes: { firstName: 'Adah' }, identity: 'identity-2' },
    };
    given(contact, created, moved)
      .when(forfeit(record.identity))
      .then({ type: 'ContactIdentityForfeited', at: later, data: { identity: record.identity } });
    given(contact, created, moved).when(forfeit('identity-2')).thenRefused('IDENTITY_IN_USE');
  });

  it('needs the contact', () => {
    given(contact).when(forfeit('identity-2')).thenRefused('CONTACT_NOT_FOUND');
  });
});

describe('giving up a creation that never ended', () => {
  const forfeitCreation: ContactCommand = {
    type: 'ForfeitContactCreation',
    at: later,
    data: { identity: 'identity-2' },
  };
  const forfeited: ContactEvent = {
    type: 'ContactCreationForfeited',
    at: later,
    data: { identity: 'identity-2' },
  };

  it('leaves no contact, however often it happens', () => {
    const then = given(contact).when(forfeitCreation);
    then.then(forfeited);
    expect(then.state()).toBeNull();
    given(contact, forfeited).when(forfeitCreation).then(forfeited);
  });

  it('is refused once the contact is there', () => {
    given(contact, created).when(forfeitCreation).thenRefused('CONTACT_ALREADY_EXISTS');
    expect(() => fold(contact, [created, forfeited])).toThrow('cannot forfeit its creation');
  });
});

it.each<ContactEvent>([
  { type: 'ContactUpdated', at, data: { changes: {}, identity: 'identity-2' } },
  { type: 'ContactIdentityForfeited', at, data: { identity: 'identity-2' } },
])('a contact never begins with $type', (event) => {
  expect(() => fold(contact, [event])).toThrow('first event of a contact');
});

describe('what counts as a change', () => {
  const { state: _, ...withoutState } = legalAddress;

  it.each<[string, object, object, object]>([
    [
      'nothing for the same keys in another order',
      { a: { x: 1, y: 2 } },
      { a: { y: 2, x: 1 } },
      {},
    ],
    ['nothing for a field left undefined', { a: 1 }, { a: undefined }, {}],
    ['null where there was a value', { a: 1 }, { a: null }, { a: null }],
    ['a value where there was null', { a: null }, { a: { x: 1 } }, { a: { x: 1 } }],
    ['an object that lost a key', { a: legalAddress }, { a: withoutState }, { a: withoutState }],
    ['an object that gained one', { a: withoutState }, { a: legalAddress }, { a: legalAddress }],
    ['an object with another key', { a: { x: 1 } }, { a: { y: 1 } }, { a: { y: 1 } }],
    ['a list in another order', { a: ['x', 'y'] }, { a: ['y', 'x'] }, { a: ['y', 'x'] }],
    ['a list is no object', { a: { 0: 'x' } }, { a: ['x'] }, { a: ['x'] }],
    ['a field that was never set', {}, { a: 1 }, { a: 1 }],
  ])('%s', (_what, current, changes, effective) => {
    expect(effectiveChanges(current, changes)).toStrictEqual(effective);
  });
});

describe('a correction that the bank reports', () => {
  const data = { paymentId: ids.payment, changeCode: 'C01', corrected: 'v2.sealed' };
  const report = { type: 'ReportContactCorrection', at: later, data } as const;
  const reported = { type: 'ContactCorrectionReported', at: later, data } as const;

  it('is noted once, and changes no field', () => {
    const then = given(contact, created).when(report);
    then.then(reported);
    expect(then.state()).toMatchObject({ ...record, correction: data });
    given(contact, created, reported).when(report).thenNothing();
  });

  it('is answered by a change of the bank account, and by no other change', () => {
    const changed = (changes: PartyChanges) =>
      given(contact, created, reported)
        .when({ type: 'UpdateContact', at: later, data: { changes, identity: 'identity-2' } })
        .state()?.correction;
    expect(changed({ firstName: 'Grace' })).toEqual(data);
    expect(changed({ bankAccount: null })).toBeNull();
  });
});
