import {
  at,
  bankAccountExample,
  fold,
  given,
  later,
  legalAddress,
  originatorExample,
} from '../testing.js';
import { originator, type OriginatorChanges, type OriginatorEvent } from './originator.js';

const notErased = { erasure: null, erasureRequest: null };
const created: OriginatorEvent = { type: 'OriginatorCreated', at, data: originatorExample() };
const update = (changes: OriginatorChanges) => ({
  type: 'UpdateOriginator' as const,
  at: later,
  data: { changes },
});

describe('an originator', () => {
  it('is created once, with its bank account', () => {
    const create = { type: 'CreateOriginator' as const, at: later, data: originatorExample() };
    const then = given(originator).when(create);
    then.then({ type: 'OriginatorCreated', at: later, data: originatorExample() });
    expect(then.state()).toStrictEqual({
      ...originatorExample(),
      createdAt: later,
      updatedAt: later,
      ...notErased,
    });
    given(originator, created).when(create).thenRefused('ORIGINATOR_ALREADY_EXISTS');
  });

  it('cannot be updated before it exists', () => {
    given(originator)
      .when(update({ email: 'new@northwind.example' }))
      .thenRefused('ORIGINATOR_NOT_FOUND');
  });

  it('records only the fields that really change', () => {
    const { email } = originatorExample();
    const then = given(originator, created).when(
      update({ email, companyName: 'Northwind Traders Inc.', phoneNumber: null }),
    );
    then.then({
      type: 'OriginatorUpdated',
      at: later,
      data: { changes: { companyName: 'Northwind Traders Inc.', phoneNumber: null } },
    });
    expect(then.state()).toStrictEqual({
      ...originatorExample(),
      companyName: 'Northwind Traders Inc.',
      phoneNumber: null,
      createdAt: at,
      updatedAt: later,
      ...notErased,
    });
  });

  it('replaces the bank account and the address whole', () => {
    const bankAccount = bankAccountExample({ subType: 'SAVINGS', sealed: 'v1.another' });
    const changes = { bankAccount, legalAddress: { ...legalAddress, city: 'Peoria' } };
    given(originator, created)
      .when(update(changes))
      .then({ type: 'OriginatorUpdated', at: later, data: { changes } });
  });

  it('is not touched by an update that changes nothing', () => {
    given(originator, created).when(update({})).thenNothing();
    given(originator, created)
      .when(update({ legalAddress, bankAccount: originatorExample().bankAccount }))
      .thenNothing();
  });

  it('does not begin with an update', () => {
    const event: OriginatorEvent = { type: 'OriginatorUpdated', at, data: { changes: {} } };
    expect(() => fold(originator, [event])).toThrow('first event of an originator');
  });
});
