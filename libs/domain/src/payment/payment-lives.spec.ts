/**
 * Every life a payment can have: all sequences of commands, each followed until no command is accepted. The
 * specification's statements about a payment's fields must hold at each step of each life.
 */
import {
  failPayment,
  fold,
  outcomeOf,
  paymentCommands as commands,
  paymentExample,
} from '../testing.js';
import {
  payment,
  type Payment,
  type PaymentCommand,
  type PaymentEvent,
  type PaymentStatus,
  paymentStatuses,
} from './payment.js';
import { failureCodes } from './rail-facts.js';

/** Notes change no status: see payment-notes.spec.ts. */
const { CorrectPayment: _, RejectPaymentLate: __, ...moves } = commands;
const everyCommand: readonly PaymentCommand[] = [
  ...Object.values(moves),
  ...failureCodes.map(failPayment),
];
/** More steps than the longest life has: link, queued, processing, in flight, completed, returned. */
const stepsMax = 10;

/** One entry per event of each life: the history, the state it gives, and the one before. */
interface Step {
  readonly history: readonly PaymentEvent[];
  readonly before: Payment | null;
  readonly after: Payment;
}

function stepsFrom(history: readonly PaymentEvent[]): Step[] {
  if (history.length > stepsMax) throw new Error('a payment that never comes to an end');
  const before = fold(payment, history);
  return everyCommand.flatMap((command) => {
    const outcome = outcomeOf(payment, history, command);
    if ('refused' in outcome) return [];
    const next = [...history, ...outcome.events];
    const after = fold(payment, next);
    if (after === null) throw new Error('an event that leaves no payment');
    return [{ history: next, before, after }, ...stepsFrom(next)];
  });
}

const steps = stepsFrom([]);
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
