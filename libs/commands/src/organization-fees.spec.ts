import { randomUUID } from 'node:crypto';
import { sandboxDirectory as banks } from '@pis/bank-rails';
import type { PaymentCreateRequest } from '@pis/contracts';
import { maxAmountMinor } from '@pis/domain';
import { organizationFees, setOrganizationFees } from './organization-fees.js';
import { PaymentCreation } from './payment-creation.js';
import { createOrganization, createOriginator } from './provisioning.js';
import { account, by, linkWorld } from './testing/link-world.js';
import { unrefused } from './use-case.js';

const plain = { discountFeeBasisPoints: 0, flatFee: 0, returnFee: 0 };

async function world() {
  const { store, keyring, organizationId, originatorId, newContact, options, ...more } =
    await linkWorld();
  const creation = new PaymentCreation(options);
  const contactId = await newContact();
  const set = (...schedules: object[]) =>
    setOrganizationFees({ store, by }, organizationId, { schedules });
  const pay = async (changes: Partial<PaymentCreateRequest> = {}, key: string = randomUUID()) => {
    const request: PaymentCreateRequest = {
      ...{ originatorId, contactId, direction: 'INBOUND', paymentAmount: 100_000 },
      ...{ paymentNote: null, externalPaymentId: null, ...changes },
    };
    const { paymentId } = unrefused(await creation.create(organizationId, key, request, by));
    const { discountFeeMinor, flatFeeMinor, returnFeeMinor } = await more.stateOf(paymentId);
    return [discountFeeMinor, flatFeeMinor, returnFeeMinor];
  };
  const show = () => organizationFees(store, organizationId);
  const problemsOf = async (schedules: unknown) => {
    const refused = await setOrganizationFees({ store, by }, organizationId, { schedules });
    if (!('refused' in refused) || refused.refused !== 'INVALID_REQUEST')
      throw new Error('it was not refused');
    return refused.problems.map(({ field, issue }) => `${field} ${issue}`);
  };
  return {
    ...{ store, keyring, originatorId, set, pay, show, problemsOf },
    ...more,
  };
}

it('until fees are set, those of the creation hold, and are shown as one schedule', async () => {
  const { show, pay } = await world();
  const schedules = [{ discountFeeBasisPoints: 25, flatFee: 50, returnFee: 400 }];
  expect(await show()).toEqual({ schedules });
  expect(await pay()).toEqual([250, 50, 400]);
});

it('a schedule counts from then on, and changes no payment that exists', async () => {
  const { set, show, pay, store } = await world();
  const key = randomUUID();
  expect(await pay({}, key)).toEqual([250, 50, 400]);
  const schedule = {
    ...{ rail: 'ACH', direction: 'INBOUND', from: '2026-01-01', discountFeeBasisPoints: 10 },
    ...{ discountFeeMin: 120, discountFeeCap: 700, flatFee: 5, returnFee: 1_000 },
  };
  const expected = { schedules: [{ ...schedule, from: '2026-01-01T00:00:00.000Z' }] };
  expect(await set(schedule)).toEqual(expected);
  expect(await show()).toEqual(expected);
  expect(await pay()).toEqual([120, 5, 1_000]);
  expect(await pay({ paymentAmount: 1_000_000 })).toEqual([700, 5, 1_000]);
  // What was set replaces what was there: no schedule is left for money that is sent.
  expect(await pay({ direction: 'OUTBOUND' })).toEqual([0, 0, 0]);
  expect(await pay({}, key)).toEqual([250, 50, 400]);
  const { events } = await store.readLog({ after: '', streamPrefixes: ['organization-'] });
  expect(events.map(({ type }) => type)).toEqual(['OrganizationCreated', 'OrganizationFeesSet']);
});

it('an originator can have fees of its own', async () => {
  const { set, pay, originatorId, newOriginator } = await world();
  const other = await newOriginator('Acme Payroll');
  await set(
    { ...plain, flatFee: 10 },
    { ...plain, flatFee: 20, originatorId: originatorId.toUpperCase() },
    { ...plain, flatFee: 30, originatorId: other },
  );
  expect(await pay()).toEqual([0, 20, 0]);
});

it('the fees depend on the rail that was chosen', async () => {
  const { set, pay } = await world();
  await set({ ...plain, flatFee: 10 }, { ...plain, flatFee: 99, rail: 'RTP' });
  expect(await pay()).toEqual([0, 10, 0]);
  expect(await pay({ direction: 'OUTBOUND' })).toEqual([0, 99, 0]);
});

it('a payer of a link pays the fee that holds when it is requested', async () => {
  const { set, linked, stateOf } = await world();
  await set({ ...plain, flatFee: 30, direction: 'INBOUND' });
  const { paymentId } = await linked();
  await set({ ...plain, flatFee: 99 });
  expect(await stateOf(paymentId)).toMatchObject({ flatFeeMinor: 30, discountFeeMinor: 0 });
});

it('names every problem of a file, and sets nothing then', async () => {
  const { problemsOf, show, originatorId, store, keyring } = await world();
  const before = await show();
  expect(
    await problemsOf([
      { ...plain, flatFee: 0.5 },
      { ...plain, returnFee: -1 },
      { ...plain, discountFeeBasisPoints: 10_001 },
      { ...plain, rail: 'BITCOIN' },
      { ...plain, direction: 'SIDEWAYS' },
      { ...plain, from: 'tomorrow' },
      { ...plain, from: '2026-01-01T00:00:00' },
      { ...plain, discountFeeMin: 2, discountFeeCap: 1 },
      { ...plain, originatorId: 'nobody' },
      { discountFeeBasisPoints: 1, flatFee: 1 },
      { ...plain, flatFees: 7 },
      { ...plain, flatFee: maxAmountMinor + 1 },
      { ...plain, discountFeeMin: maxAmountMinor + 1 },
    ]),
  ).toEqual([
    'schedules.0.flatFee validation_integer',
    'schedules.1.returnFee validation_min',
    'schedules.2.discountFeeBasisPoints validation_max',
    'schedules.3.rail validation_enum',
    'schedules.4.direction validation_enum',
    'schedules.5.from validation_datetime',
    'schedules.6.from validation_datetime',
    'schedules.7.discountFeeCap validation_min',
    'schedules.8.originatorId validation_uuid',
    'schedules.9.returnFee validation_required',
    'schedules.10 has fields that a fee schedule does not have',
    'schedules.11.flatFee validation_max',
    'schedules.12.discountFeeMin validation_max',
  ]);
  expect(await problemsOf(undefined)).toEqual(['schedules validation_required']);
  const again = 'is for the same payments from the same time as an earlier one';
  const year = { ...plain, from: '2027-01-01', originatorId };
  expect(await problemsOf([plain, year, { ...year, from: '2027-01-01T01:00:00+01:00' }])).toEqual([
    `schedules.2 ${again}`,
  ]);
  const other = unrefused(await createOrganization({ store, by }, { name: 'Another' }));
  const named = { entityType: 'BUSINESS', companyName: 'B', email: 'b@c.example' };
  const input = { ...named, bankAccount: account };
  const foreign = unrefused(
    await createOriginator(
      { store, by },
      { organizationId: other.organizationId, input, keyring, banks },
    ),
  );
  const theirs = { ...plain, originatorId: foreign.originatorId };
  expect(await problemsOf([plain, theirs])).toEqual(['schedules.1.originatorId validation_enum']);
  expect(await show()).toEqual(before);
  const nobody = randomUUID();
  const missing = { refused: 'ORGANIZATION_NOT_FOUND', organizationId: nobody };
  expect(await setOrganizationFees({ store, by }, nobody, { schedules: [plain] })).toEqual(missing);
  expect(await organizationFees(store, nobody)).toEqual(missing);
});
