/** A payment that is moved by hand while it is on its way to the simulated bank. */
import { randomUUID } from 'node:crypto';
import type { ReportByHandResult } from '@pis/bank-rails/sandbox';
import { payment, type PaymentCommand } from '@pis/domain';
import { paymentExample } from '@pis/domain/testing';
import { memoryEventStore, repository, sealedStore, systemContext } from '@pis/event-store';
import { testKeyring } from '@pis/keyring/testing';
import { PaymentSimulation } from './payment-simulation.js';

const by = systemContext('test');
const at = '2026-11-21T09:00:00.000Z';
const claim: PaymentCommand = { type: 'ProcessPayment', at, data: { railReference: 'r' } };
const fail = { outcome: 'fail', returnReasonCode: null } as const;

async function world(answers: readonly ReportByHandResult[]) {
  const store = sealedStore(memoryEventStore(), testKeyring());
  const payments = repository(store, payment);
  const data = paymentExample({ paymentId: randomUUID() });
  const { paymentId, organizationId } = data;
  await payments.create(paymentId, { type: 'QueuePayment', at, data }, by);
  const asked: string[] = [];
  const simulation = (of: typeof store) =>
    new PaymentSimulation({
      store: of,
      ownWrites: { note: () => undefined },
      report: (reference) => {
        asked.push(reference);
        return Promise.resolve(answers[asked.length - 1] ?? answers.at(-1) ?? 'unknown');
      },
      takenWithinMs: 50,
    });
  const claimIt = () => payments.execute(paymentId, claim, by);
  const statusOf = async () => (await payments.load(paymentId)).state?.status;
  return { store, simulation, asked, claimIt, statusOf, organizationId, paymentId };
}

it('a payment that the bank is about to get fails once the bank has it, so that its books agree', async () => {
  const { store, simulation, asked, claimIt, ...of } = await world([
    'unknown',
    'unknown',
    'reported',
  ]);
  await claimIt();
  const failed = await simulation(store).simulate(of.organizationId, of.paymentId, fail, by);
  expect(failed).toMatchObject({ status: 'FAILED' });
  expect(asked).toEqual(['r', 'r', 'r']);
});

it('a payment that the bank does not get in time does not fail: it may still be executed', async () => {
  const { store, simulation, claimIt, statusOf, ...of } = await world(['unknown']);
  await claimIt();
  const failed = await simulation(store).simulate(of.organizationId, of.paymentId, fail, by);
  expect(failed).toEqual({ refused: 'NOT_ALLOWED_IN_STATUS', status: 'PROCESSING' });
  expect(await statusOf()).toBe('PROCESSING');
});

it('a payment that is claimed after it was read as QUEUED fails only if the bank agrees', async () => {
  const { store, simulation, asked, claimIt, statusOf, ...of } = await world(['contradicts']);
  let reads = 0;
  // The executor claims it right behind the first read.
  const claimedBehind: typeof store = Object.create(store, {
    readStream: {
      value: async (...args: Parameters<typeof store.readStream>) => {
        const events = await store.readStream(...args);
        if ((reads += 1) === 1) await claimIt();
        return events;
      },
    },
  });
  const failed = await simulation(claimedBehind).simulate(
    of.organizationId,
    of.paymentId,
    fail,
    by,
  );
  expect(failed).toMatchObject({ refused: 'NOT_ALLOWED_IN_STATUS' });
  expect(asked).toEqual(['r']);
  expect(await statusOf()).toBe('PROCESSING');
});
