/** The specification's statements about a payment's fields must hold at each step of each life. */
import { fold, paymentExample, stepsOfPaymentLives } from '../testing.js';
import { payment, type Payment, type PaymentStatus, paymentStatuses } from './payment.js';

const steps = stepsOfPaymentLives();
const states = steps.map(({ after }) => after);
const isIn = (statuses: readonly PaymentStatus[]) => (state: Payment) =>
  statuses.includes(state.status);

it('every status is reached, and every life comes to an end', () => {
  expect(new Set(states.map(({ status }) => status))).toEqual(new Set(paymentStatuses));
  expect(Math.max(...steps.map(({ history }) => history.length))).toBe(6);
});

it('an accepted command is one event and one change of status', () => {
  for (const { history, before, after } of steps) {
    expect(fold(payment, history.slice(0, -1))).toStrictEqual(before);
    expect(after.status).not.toBe(before?.status ?? null);
  }
});

it.each<[keyof Payment, readonly PaymentStatus[]]>([
  ['completedAt', ['COMPLETED', 'RETURNED']],
  ['failedAt', ['FAILED', 'FAILED_IN_FLIGHT']],
  ['failureReason', ['FAILED', 'FAILED_IN_FLIGHT']],
  ['failureCode', ['FAILED']],
  ['failureMessage', ['FAILED']],
  ['returnedAt', ['RETURNED']],
  ['returnReasonCode', ['RETURNED']],
  ['canceledAt', ['CANCELED']],
])('%s is set in %j and null in every other status', (field, statuses) => {
  for (const state of states)
    expect({ status: state.status, isSet: state[field] !== null }).toEqual({
      status: state.status,
      isSet: isIn(statuses)(state),
    });
});

it('both parties have their bank account from QUEUED on, the originator always', () => {
  const beforeQueued = isIn(['AWAITING_CONFIRMATION', 'CANCELED']);
  for (const state of states) {
    expect(state.originator.bankAccount).not.toBeNull();
    if (!beforeQueued(state)) expect(state.contact?.bankAccount ?? null).not.toBeNull();
  }
});

it('the details set at creation never change', () => {
  const {
    contact: _,
    contactId: __,
    idempotencyKey: ___,
    paymentRail: ____,
    ...agreed
  } = paymentExample();
  for (const state of states) expect(state).toMatchObject(agreed);
  for (const { before, after } of steps)
    if (before !== null) {
      expect(after.createdAt).toBe(before.createdAt);
      expect(after.contactId).toBe(before.contactId);
      expect(after.idempotencyKey).toBe(before.idempotencyKey);
      // Chosen when the bank of the counterparty is known.
      if (before.contact !== null) expect(after.paymentRail).toBe(before.paymentRail);
      if (before.contact !== null) expect(after.contact).toStrictEqual(before.contact);
      if (before.railReference !== null) expect(after.railReference).toBe(before.railReference);
    }
});

it('money that was never submitted is never completed', () => {
  for (const { history } of steps)
    if (history.some(({ type }) => type === 'PaymentCompleted'))
      expect(history.map(({ type }) => type)).toContain('PaymentProcessing');
});
