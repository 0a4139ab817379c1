/** Every life a payment can have: all sequences of commands, each followed until no command is accepted. */
import {
  payment,
  type Payment,
  type PaymentCommand,
  type PaymentEvent,
} from '../payment/payment.js';
import { failureCodes } from '../payment/rail-facts.js';
import { fold, outcomeOf } from './given.js';
import { failPayment, paymentCommands } from './payment-examples.js';

/** Notes change no status: see payment-notes.spec.ts. */
const {
  CorrectPayment: _,
  ReturnPaymentAgain: __,
  RejectPaymentLate: rejectLate,
  ...moves
} = paymentCommands;
const everyMove: readonly PaymentCommand[] = [
  ...Object.values(moves),
  ...failureCodes.map(failPayment),
];
const movesAndRejections: readonly PaymentCommand[] = [...everyMove, rejectLate];
/** More steps than the longest life has: link, queued, processing, in flight, rejected, completed, returned. */
const stepsMax = 10;

/** One for each event of each life: the history, the state it gives, and the one before. */
export interface PaymentStep {
  readonly history: readonly PaymentEvent[];
  readonly before: Payment | null;
  readonly after: Payment;
}

export function stepsOfPaymentLives(): readonly PaymentStep[] {
  return stepsAfter([], everyMove);
}

/** Also of payments that the bank rejects when they are in flight, which changes no status. */
export function stepsOfRejectedLives(): readonly PaymentStep[] {
  return stepsAfter([], movesAndRejections);
}

function stepsAfter(
  history: readonly PaymentEvent[],
  commands: readonly PaymentCommand[],
): readonly PaymentStep[] {
  if (history.length > stepsMax) throw new Error('a payment that never comes to an end');
  const before = fold(payment, history);
  return commands.flatMap((command) => {
    const outcome = outcomeOf(payment, history, command);
    if ('refused' in outcome || outcome.events.length === 0) return [];
    const next = [...history, ...outcome.events];
    const after = fold(payment, next);
    if (after === null) throw new Error('an event that leaves no payment');
    return [{ history: next, before, after }, ...stepsAfter(next, commands)];
  });
}
