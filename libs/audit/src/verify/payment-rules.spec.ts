import { payment, paymentStatuses, statusAfter } from '@pis/domain';
import { paymentHistories, paymentEvents } from '@pis/domain/testing';
import { type From, statuses, transitionOf } from './payment-rules.js';

/** The transitions of docs/specification.md, "States and transitions", once more: from, to. */
const specified: readonly (readonly [From, From])[] = [
  [null, 'QUEUED'],
  [null, 'AWAITING_CONFIRMATION'],
  ['AWAITING_CONFIRMATION', 'QUEUED'],
  ['AWAITING_CONFIRMATION', 'CANCELED'],
  ['QUEUED', 'PROCESSING'],
  ['QUEUED', 'FAILED'],
  ['QUEUED', 'BLOCKED'],
  ['PROCESSING', 'COMPLETED'],
  ['PROCESSING', 'FAILED'],
  ['PROCESSING', 'FAILED_IN_FLIGHT'],
  ['FAILED_IN_FLIGHT', 'COMPLETED'],
  ['COMPLETED', 'RETURNED'],
];

it('allows exactly the transitions of the specification', () => {
  const allowed = Object.keys(statusAfter).flatMap((type) =>
    [null, ...statuses].flatMap((from) => {
      const transition = transitionOf(from, type);
      return transition?.isLegal === true ? [[from, transition.to]] : [];
    }),
  );
  expect(new Set(allowed.map(String))).toEqual(new Set(specified.map(String)));
  expect(allowed).toHaveLength(specified.length);
});

it('knows every status and every event of a payment', () => {
  expect(new Set(statuses)).toEqual(new Set(paymentStatuses));
  for (const type of Object.keys(payment.schemaVersions))
    expect(transitionOf('QUEUED', type)).not.toBeNull();
  expect(transitionOf('QUEUED', 'PaymentTeleported')).toBeNull();
});

it('allows every history that the service makes', () => {
  for (const histories of Object.values(paymentHistories))
    for (const history of histories) {
      let status: From = null;
      for (const { type } of history) {
        const transition = transitionOf(status, type);
        expect([status, type, transition?.isLegal]).toEqual([status, type, true]);
        status = transition?.to ?? status;
      }
    }
});

it.each([
  ['FAILED_IN_FLIGHT', paymentEvents.rejectedLate.type, true],
  ['COMPLETED', paymentEvents.corrected.type, true],
  ['QUEUED', paymentEvents.corrected.type, false],
  ['COMPLETED', paymentEvents.rejectedLate.type, false],
] as const)('a note changes no status: in %s %s is legal: %s', (from, type, isLegal) => {
  expect(transitionOf(from, type)).toEqual({ isLegal, to: null });
});
