import { sandboxDirectory as banks } from '@pis/bank-rails';
import { settlementPartyId } from '@pis/domain';
import { memoryEventStore, systemContext } from '@pis/event-store';
import { openBankAccount, ownerOf } from '@pis/keyring';
import { testKeyring } from '@pis/keyring/testing';
import {
  setSettlementAccount,
  settlementAccountToCollect,
  showSettlementAccount,
} from './settlement-account.js';
import { unrefused } from './use-case.js';

const by = systemContext('test');
const input = {
  name: 'PAYSERVICE INC',
  companyId: '1234567890',
  bankAccount: {
    subType: 'CHECKING',
    achRoutingNumber: '021000021',
    achAccountNumber: '123456789012',
  },
};
const masked = {
  name: 'PAYSERVICE INC',
  companyId: '1234567890',
  bankAccount: {
    bankName: 'JPMorgan Chase Bank',
    subType: 'CHECKING',
    achRoutingNumber: '*****0021',
    achAccountNumber: '********9012',
    swiftCode: null,
  },
};

function world() {
  const store = memoryEventStore();
  const sealing = { keyring: testKeyring(), banks };
  return {
    ...{ store, sealing },
    set: (given: unknown) => setSettlementAccount({ store, by }, given, sealing),
    toCollect: (environment: 'sandbox' | 'production') =>
      settlementAccountToCollect(store, environment, sealing),
  };
}

describe('the settlement account', () => {
  it('is shown masked, and its number is in no event', async () => {
    const { store, set } = world();
    expect(await set(input)).toEqual(masked);
    expect(await showSettlementAccount(store)).toEqual(masked);
    const events = await store.readStream('settlement-account');
    expect(events).toHaveLength(1);
    expect(JSON.stringify(events)).not.toContain('123456789012');
  });

  it('opens for who collects, under the key of the operator', async () => {
    const { sealing, set, toCollect } = world();
    await set(input);
    const { bankAccount } = unrefused(await toCollect('production'));
    const owner = ownerOf.originator(settlementPartyId);
    expect(await openBankAccount(sealing.keyring, bankAccount, owner)).toEqual({
      achRoutingNumber: '021000021',
      achAccountNumber: '123456789012',
      swiftCode: null,
    });
  });

  it('is missing in production until it is set, and made up in the sandbox', async () => {
    const missing = { refused: 'SETTLEMENT_ACCOUNT_MISSING' };
    const production = world();
    expect(await production.toCollect('production')).toEqual(missing);
    expect(await showSettlementAccount(production.store)).toEqual(missing);
    expect(await production.store.readStream('settlement-account')).toEqual([]);

    const sandbox = world();
    const [one, other] = await Promise.all([
      sandbox.toCollect('sandbox'),
      sandbox.toCollect('sandbox'),
    ]);
    expect(one).toMatchObject({ name: 'SANDBOX OPERATOR' });
    expect(other).toEqual(one);
    expect(await sandbox.store.readStream('settlement-account')).toHaveLength(1);
    await sandbox.set(input);
    expect(await sandbox.toCollect('sandbox')).toMatchObject({ name: 'PAYSERVICE INC' });
  });

  it.each<[string, object]>([
    ['name', { name: 'A name of more than sixteen characters' }],
    ['name', { name: 'Zoë' }],
    ['companyId', { companyId: '' }],
    ['companyId', { companyId: '12345678901' }],
    [
      'bankAccount.achRoutingNumber',
      { bankAccount: { ...input.bankAccount, achRoutingNumber: '021000022' } },
    ],
    ['bankAccount', { bankAccount: null }],
    ['fields that a settlement account does not have', { acount: 1 }],
  ])('is refused with a bad %s', async (field, changes) => {
    const { store, set } = world();
    const refused = await set({ ...input, ...changes });
    expect(refused).toMatchObject({ refused: 'INVALID_REQUEST' });
    expect(JSON.stringify(refused)).toContain(field);
    expect(await store.readStream('settlement-account')).toEqual([]);
  });
});
