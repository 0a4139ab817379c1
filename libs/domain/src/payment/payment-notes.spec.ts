/** Facts that change no status: what the bank reports beside the transitions, and why the review blocked. */
import {
  at,
  correction,
  fold,
  given,
  later,
  paymentCommands as commands,
  paymentEvents as events,
  paymentHistories as histories,
  rejectionExample,
} from '../testing.js';
import { actsFrom, isTransition, payment, paymentStatuses } from './payment.js';
import { correctionsMax } from './rail-facts.js';

const { queued, processing, completed, failedInFlight } = events;

it.each(paymentStatuses)(
  'a note changes no status and is recorded where it can happen: %s',
  (status) => {
    for (const history of histories[status])
      for (const command of [commands.CorrectPayment, commands.RejectPaymentLate]) {
        const then = given(payment, ...history).when(command);
        const allowed: readonly string[] = actsFrom[command.type];
        if (!allowed.includes(status)) then.thenRefused('NOT_ALLOWED_IN_STATUS');
        else expect(then.state()).toMatchObject({ status, statusAt: at });
      }
  },
);

it('tells notes from transitions', () => {
  const notes = Object.values(events).filter((event) => !isTransition(event));
  expect(notes).toEqual([events.corrected, events.rejectedLate, events.returnedAgain]);
});

it('records a notification of change once, and a second one beside it', () => {
  const history = [queued, processing, completed, events.corrected];
  given(payment, ...history)
    .when(commands.CorrectPayment)
    .thenNothing();
  const second = { changeCode: 'C02', corrected: 'v2.sealed-routing-number' };
  const then = given(payment, ...history).when({ type: 'CorrectPayment', at: later, data: second });
  expect(then.state()?.corrections).toEqual([correction, second]);
});

it('refuses more notifications of change than a payment can have', () => {
  const many = Array.from({ length: correctionsMax }, (_, n) => ({
    ...events.corrected,
    data: { ...correction, corrected: `v2.sealed-${n}` },
  }));
  given(payment, queued, processing, completed, ...many)
    .when(commands.CorrectPayment)
    .thenRefused('TOO_MANY_CORRECTIONS');
});

it('records a late rejection once, and still completes when the bank confirms', () => {
  const history = [queued, processing, failedInFlight, events.rejectedLate];
  expect(fold(payment, history)).toMatchObject({
    status: 'FAILED_IN_FLIGHT',
    lateRejection: rejectionExample,
    failureCode: null,
  });
  given(payment, ...history)
    .when({ ...commands.RejectPaymentLate, data: { ...rejectionExample, railCode: 'AC01' } })
    .thenNothing();
  expect(
    given(payment, ...history)
      .when(commands.CompletePayment)
      .state()?.status,
  ).toBe('COMPLETED');
});

it('keeps the reasons of a block in its event and not in the payment', () => {
  const data = { rules: ['listed'], contact: { id: 'c', reasons: ['the name is listed'] } };
  const then = given(payment, queued).when({ type: 'BlockPayment', at: later, data });
  then.then({ type: 'PaymentBlocked', at: later, data });
  expect(JSON.stringify(then.state())).not.toContain('listed');
});
