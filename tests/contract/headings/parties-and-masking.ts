import { randomUUID } from 'node:crypto';
import type { BankAccount, Payment } from '@pis/client';
import { call } from '../support/http.js';
import {
  accountNumber,
  bankAccount,
  contactOf,
  createContact,
  createPayment,
  getPayment,
  inStatus,
  originators,
  paymentIn,
  postPayment,
  paymentBody,
  routingNumber,
  uuid,
} from '../support/things.js';
import { arrivalLimitMs, itWithReceiver } from '../support/target.js';
import { withEndpoint } from '../support/things.js';
import { until } from '@pis/local-servers/testing';

const business = {
  entityType: 'BUSINESS',
  companyName: 'Analytical Engines Inc',
  firstName: undefined,
  lastName: undefined,
};

/** The contact as a payment to it shows it. */
async function partyOf(changes: Parameters<typeof createContact>[0]) {
  const contactId = await createContact(changes);
  const { contact } = await getPayment(await createPayment({ contactId }));
  if (contact === null) throw new Error('the payment has no contact');
  return contact;
}

async function accountShown(changes: object): Promise<BankAccount> {
  const party = await partyOf({ bankAccount: { ...bankAccount('7123'), ...changes } });
  if (party.bankAccount === null) throw new Error('the party has no account');
  return party.bankAccount;
}

describe('Party object (originator, contact)', () => {
  it('party-1 has the id of the originator and of the contact', async () => {
    const contactId = await createContact();
    const { originator, contact } = await getPayment(await createPayment({ contactId }));
    expect(contact?.id).toBe(contactId);
    expect((await originators()).map(({ originatorId }) => originatorId)).toContain(originator.id);
    expect(originator.id).toMatch(uuid);
  });

  it('party-2 has the firstName of an INDIVIDUAL; of a BUSINESS it may be null', async () => {
    expect((await partyOf({ firstName: 'Grace' })).firstName).toBe('Grace');
    expect((await partyOf(business)).firstName).toBeNull();
  });

  it('party-3 has the lastName of an INDIVIDUAL; of a BUSINESS it may be null', async () => {
    expect((await partyOf({ lastName: 'Hopper' })).lastName).toBe('Hopper');
    expect((await partyOf(business)).lastName).toBeNull();
  });

  it('party-4 has the companyName of a BUSINESS, and null for an INDIVIDUAL', async () => {
    expect((await partyOf(business)).companyName).toBe('Analytical Engines Inc');
    expect((await partyOf({})).companyName).toBeNull();
  });

  it('party-5 has the entity type', async () => {
    expect((await partyOf(business)).entityType).toBe('BUSINESS');
    expect((await partyOf({})).entityType).toBe('INDIVIDUAL');
  });

  it('party-6 has the bank account in the single read, and not in the list', async () => {
    const paymentId = await createPayment();
    expect((await getPayment(paymentId)).originator).toHaveProperty('bankAccount.subType');
    const list = await call('GET', '/v1/payments/?limit=100');
    expect(list.text).not.toContain('"bankAccount":');
    expect(list.text).toContain(paymentId);
  });
});

describe('bankAccount object', () => {
  it('bank-account-1 has the name of the bank, never masked', async () => {
    const { bankName } = await accountShown({});
    expect(bankName === null || /^[^*]+$/.test(bankName)).toBe(true);
    const accounts = (await originators()).map((originator) => originator.bankAccount);
    for (const { bankName: name } of accounts) expect(name ?? '').not.toContain('*');
  });

  it('bank-account-2 has the swiftCode masked, or null', async () => {
    expect((await accountShown({ swiftCode: 'CHASUS33XXX' })).swiftCode).toBe('*******3XXX');
    expect((await accountShown({})).swiftCode).toBeNull();
  });

  it('bank-account-3 has the subType CHECKING or SAVINGS', async () => {
    expect((await accountShown({ subType: 'CHECKING' })).subType).toBe('CHECKING');
    expect((await accountShown({ subType: 'SAVINGS' })).subType).toBe('SAVINGS');
  });

  it('bank-account-4 has the achRoutingNumber masked', async () => {
    expect((await accountShown({})).achRoutingNumber).toBe(`*****${routingNumber.slice(-4)}`);
  });

  it('bank-account-5 has the achAccountNumber masked', async () => {
    expect((await accountShown({})).achAccountNumber).toBe('********7123');
  });
});

describe('Masking and nullness', () => {
  itWithReceiver(
    'masking-1 shows the last four characters after asterisks, in answers and webhooks',
    () =>
      withEndpoint(async ({ received }) => {
        const number = accountNumber('1234');
        const swiftCode = 'BOFAUS3NXXX';
        const contactId = await createContact({
          bankAccount: { ...bankAccount(), achAccountNumber: number, swiftCode },
        });
        const paymentId = await createPayment({ contactId });
        const payment = await inStatus(paymentId, 'COMPLETED');
        await until(() => received().length >= 3, { timeoutMs: arrivalLimitMs });
        const shown = (answer: { text: string }) => answer.text;
        const texts = [
          shown(await call('GET', `/v1/payments/${paymentId}`)),
          shown(await call('GET', '/v1/payments/?limit=100')),
          shown(await call('GET', '/v1/contacts/')),
          shown(await call('PATCH', `/v1/contacts/${contactId}`, { body: {} })),
          ...received().map(({ body }) => body),
        ];
        for (const text of texts)
          for (const secret of [number, swiftCode, routingNumber])
            expect(text).not.toContain(secret);
        expect(payment.contact?.bankAccount).toMatchObject({
          achAccountNumber: '********1234',
          achRoutingNumber: `*****${routingNumber.slice(-4)}`,
          swiftCode: '*******NXXX',
        });
      }),
  );

  it('masking-2 shows only the last two characters of a number of four', async () => {
    const party = await partyOf({
      email: `short.${randomUUID()}@example.com`,
      bankAccount: { ...bankAccount(), achAccountNumber: '4711' },
    });
    expect(party.bankAccount?.achAccountNumber).toBe('**11');
  });

  it('masking-3 has no parameter that returns the full number', async () => {
    const number = accountNumber('7124');
    const contactId = await createContact({
      bankAccount: { ...bankAccount(), achAccountNumber: number },
    });
    const paymentId = await createPayment({ contactId });
    for (const parameter of [
      'unmasked=true',
      'masked=false',
      'mask=0',
      'full=1',
      'expand=bankAccount',
      'fields=achAccountNumber',
    ])
      for (const path of [`/v1/payments/${paymentId}`, '/v1/payments/', '/v1/contacts/'])
        expect((await call('GET', `${path}?${parameter}`)).text).not.toContain(number);
    const accept = { accept: 'application/json; unmasked=true' };
    const answer = await call('GET', `/v1/payments/${paymentId}`, { headers: accept });
    expect(answer.text).not.toContain(number);
  });

  it('masking-4 has the debited account at the contact when INBOUND, the credited one at the originator', async () => {
    const contactId = await createContact({ bankAccount: bankAccount('7125') });
    const payment = await getPayment(await createPayment({ contactId, direction: 'INBOUND' }));
    const ours = (await originators()).find(
      ({ originatorId }) => originatorId === payment.originator.id,
    );
    expect(payment.contact?.bankAccount?.achAccountNumber).toBe('********7125');
    expect(payment.originator.bankAccount).toEqual(ours?.bankAccount);
    expect((await contactOf(contactId)).bankAccount).toEqual(payment.contact?.bankAccount);
  });

  it('masking-5 shows the direction only in `direction`', async () => {
    const contactId = await createContact();
    const shapes = [];
    for (const direction of ['INBOUND', 'OUTBOUND']) {
      const payment = await getPayment(await createPayment({ contactId, direction }));
      shapes.push(withoutDirection(payment));
    }
    expect(shapes[0]).toEqual(shapes[1]);
    expect((await postPayment(await paymentBody())).status).toBe(201);
    expect((await paymentIn('QUEUED', '0501', { direction: 'INBOUND' })).direction).toBe('INBOUND');
  });
});

/** What two payments to one contact must have in common. */
function withoutDirection(payment: Payment): object {
  const {
    paymentId: _p,
    direction: _d,
    // Only ACH collects money.
    paymentRail: _r,
    createdAt: _c,
    completedAt: _a,
    status: _s,
    ...rest
  } = payment;
  return rest;
}
