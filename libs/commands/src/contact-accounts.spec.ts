import { randomUUID } from 'node:crypto';
import { correctionPlace } from '@pis/bank-rails';
import { payment as payments, type PaymentCommand, type Refusal } from '@pis/domain';
import { repository } from '@pis/event-store';
import { openBankAccount, ownerOf } from '@pis/keyring';
import { ContactAccounts } from './contact-accounts.js';
import { ContactReports } from './contact-reports.js';
import { at, by, setUp } from './testing/erasure-world.js';
import { unrefused } from './use-case.js';

const submitted: PaymentCommand = {
  ...{ type: 'ProcessPayment', at, data: { railReference: 'r', connection: 'first' } },
};
const entered = {
  subType: 'CHECKING',
  achRoutingNumber: '121000248',
  achAccountNumber: '777000111222',
  swiftCode: null,
} as const;

/** @param before called between the decision to apply the correction and the change */
async function correctedContact(before: (change: () => Promise<unknown>) => Promise<unknown>) {
  const world = await setUp();
  const { store, keyring, organizationId } = world;
  const { directory } = world.here;
  const contactId = await world.newContact();
  const paymentId = await world.newPayment(contactId, submitted);
  const owner = ownerOf.contact(contactId);
  const data = JSON.stringify({ achAccountNumber: '555000444' });
  const corrected = await keyring.seal(owner, data, correctionPlace('first', 'r'));
  const { state } = await repository(store, payments).load(paymentId);
  if (state === null) throw new Error('no payment');
  const reports = new ContactReports(store, keyring, 'system:test');
  await reports.noteCorrection(state, { changeCode: 'C01', corrected });
  const change = () =>
    directory.update(organizationId, contactId, { bankAccount: entered }, by).then(unrefused);
  const updateUnless = async <Refused extends Refusal<string>>(
    ...given: Parameters<typeof directory.updateUnless<Refused>>
  ) => {
    await before(change);
    return directory.updateUnless<Refused>(...given);
  };
  const accounts = new ContactAccounts({
    ...world.options,
    contacts: { updateUnless },
    prenoteConnection: () => Promise.resolve(null),
  });
  const apply = () =>
    accounts.apply(organizationId, contactId, { paymentId, changeCode: 'C01' }, by);
  const number = async () => {
    const account = (await world.contactState(contactId))?.bankAccount;
    return account && (await openBankAccount(keyring, account, owner)).achAccountNumber;
  };
  /** As an earlier contact had it, which the log has lost. */
  const reportOfAnother = async () => {
    const another = ownerOf.contact(randomUUID());
    const lost = await keyring.seal(another, data, correctionPlace('first', 'r'));
    await reports.noteCorrection(state, { changeCode: 'C02', corrected: lost });
  };
  const find = () => accounts.find(organizationId, contactId).then(unrefused);
  return { apply, find, number, reportOfAnother };
}

describe('Applying the correction of an account', () => {
  it('replaces what the bank says is wrong', async () => {
    const { apply, number } = await correctedContact(() => Promise.resolve());
    expect(unrefused(await apply())).toMatchObject({ correction: null });
    expect(await number()).toBe('555000444');
  });

  it('leaves an account alone that somebody else enters at the same time', async () => {
    const { apply, number } = await correctedContact((change) => change());
    expect(await apply()).toEqual({ refused: 'CORRECTION_NOT_FOUND' });
    expect(await number()).toBe(entered.achAccountNumber);
  });

  it('shows a correction that was sealed for an earlier contact without its numbers', async () => {
    const { find, reportOfAnother } = await correctedContact(() => Promise.resolve());
    await reportOfAnother();
    const { correction } = await find();
    expect(correction).toMatchObject({ changeCode: 'C02', corrected: null, isApplicable: false });
  });
});
