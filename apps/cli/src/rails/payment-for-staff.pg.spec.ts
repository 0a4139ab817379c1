import { payment as payments, type PaymentReturn } from '@pis/domain';
import { ids, paymentEvents, paymentExample } from '@pis/domain/testing';
import { memoryEventStore, repository, sealedStore, systemContext } from '@pis/event-store';
import { testKeyring } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { paymentForStaff } from './payment-for-staff.js';

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 2);
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const { queued, processing, completed, returned, returnedAgain } = paymentEvents;

it.each<[string, PaymentReturn | null, object | null]>([
  ['that was not returned', null, null],
  [
    'of an older release that was returned',
    { returnReasonCode: 'R01' },
    { amount: 125_000, kept: 0, reference: null, later: [] },
  ],
  [
    'of which banks kept a part',
    { returnReasonCode: null, returnReference: 'RTR1', returnedAmountMinor: 123_500 },
    { amount: 123_500, kept: 1_500, reference: 'RTR1', later: [] },
  ],
])('staff see what came back of a payment %s', async (_what, data, expected) => {
  const keyring = testKeyring();
  const store = sealedStore(memoryEventStore(), keyring);
  const records = repository(store, payments);
  const sent = { ...queued, data: paymentExample({ paymentRail: 'SWIFT' }) };
  const events = [sent, processing, completed, ...(data === null ? [] : [{ ...returned, data }])];
  await records.append(ids.payment, records.fold([]), events, systemContext('test'));
  const shown = await paymentForStaff({ store, pool, keyring }, ids.payment);
  expect(shown.returned).toEqual(expected);
});

it('staff see each return of a payment that came back in parts', async () => {
  const keyring = testKeyring();
  const store = sealedStore(memoryEventStore(), keyring);
  const records = repository(store, payments);
  const sent = { ...queued, data: paymentExample({ paymentRail: 'SWIFT' }) };
  const data = { returnReasonCode: null, returnReference: 'RTR1', returnedAmountMinor: 123_500 };
  const events = [sent, processing, completed, { ...returned, data }, returnedAgain];
  await records.append(ids.payment, records.fold([]), events, systemContext('test'));
  const shown = await paymentForStaff({ store, pool, keyring }, ids.payment);
  const later = [{ amount: 1_500, reference: 'bank-8' }];
  expect(shown.returned).toEqual({ amount: 125_000, kept: 0, reference: 'RTR1', later });
});
