/**
 * Every status × every command, against the spec. `specTransitions` is the table "Transitions" of
 * the specification, row by row: read the two side by side. What it does not list must be refused.
 */
import {
  isTransition,
  payment,
  type PaymentCommand,
  type PaymentEvent,
  paymentStatuses,
  type PaymentStatus,
  statusAfter,
} from './payment.js';
import { failureCodes } from './rail-facts.js';
import {
  at,
  failPayment,
  fold,
  later,
  outcomeOf,
  paymentCommands as commands,
  paymentHistories as histories,
} from '../testing.js';

type Row = readonly [
  from: PaymentStatus | '(creation)',
  trigger: string,
  to: PaymentStatus,
  command: PaymentCommand,
];

const specTransitions: readonly Row[] = [
  ['(creation)', 'POST /v1/payments/', 'QUEUED', commands.QueuePayment],
  [
    '(creation)',
    'dashboard, without bank details',
    'AWAITING_CONFIRMATION',
    commands.AwaitConfirmation,
  ],
  [
    'AWAITING_CONFIRMATION',
    'counterparty submits the link page',
    'QUEUED',
    commands.SubmitCounterparty,
  ],
  ['AWAITING_CONFIRMATION', 'cancel in dashboard', 'CANCELED', commands.CancelPayment],
  // "link expires: stays AWAITING_CONFIRMATION, no event" is no transition: see payment.spec.ts.
  ['QUEUED', 'system picks up the payment', 'PROCESSING', commands.ProcessPayment],
  [
    'QUEUED',
    'validation rejects originator data',
    'FAILED',
    failPayment('INVALID_ORIGINATOR_DATA'),
  ],
  ['QUEUED', 'validation rejects contact data', 'FAILED', failPayment('INVALID_CONTACT_DATA')],
  ['QUEUED', 'unexpected error', 'FAILED', failPayment('INTERNAL_ERROR')],
  ['QUEUED', 'automated review holds the payment', 'BLOCKED', commands.BlockPayment],
  ['PROCESSING', 'rail accepts the payment', 'COMPLETED', commands.CompletePayment],
  ['PROCESSING', 'internal error prevents submission', 'FAILED', failPayment('INTERNAL_ERROR')],
  // The specification is silent about a rejection by the rail: rule rail-decision-1.
  [
    'PROCESSING',
    'the rail rejects originator data',
    'FAILED',
    failPayment('INVALID_ORIGINATOR_DATA'),
  ],
  ['PROCESSING', 'the rail rejects contact data', 'FAILED', failPayment('INVALID_CONTACT_DATA')],
  [
    'PROCESSING',
    'no confirmation within the normal time',
    'FAILED_IN_FLIGHT',
    commands.FailPaymentInFlight,
  ],
  ['FAILED_IN_FLIGHT', 'late signal', 'COMPLETED', commands.CompletePayment],
  ['COMPLETED', 'receiving bank returns the payment', 'RETURNED', commands.ReturnPayment],
];

/** Every command there is, FailPayment once for each failure code. */
const everyCommand: readonly PaymentCommand[] = [
  commands.QueuePayment,
  commands.AwaitConfirmation,
  commands.SubmitCounterparty,
  commands.CancelPayment,
  commands.BlockPayment,
  commands.ProcessPayment,
  commands.CompletePayment,
  ...failureCodes.map(failPayment),
  commands.FailPaymentInFlight,
  commands.ReturnPayment,
];

const nameOf = (command: PaymentCommand) =>
  command.type === 'FailPayment' ? `FailPayment(${command.data.failureCode})` : command.type;

const starts: readonly (PaymentStatus | '(creation)')[] = ['(creation)', ...paymentStatuses];

describe('the spec’s transition table', () => {
  it.each(specTransitions)('%s, when %s, becomes %s', (from, _trigger, to, command) => {
    for (const history of histories[from]) {
      const outcome = outcomeOf(payment, history, command);
      if ('refused' in outcome) throw new Error(`refused: ${outcome.refused}`);
      const moves = outcome.events.filter(isTransition);
      expect(moves.map((event) => statusAfter[event.type])).toEqual([to]);
      expect(fold(payment, [...history, ...outcome.events])).toMatchObject({
        status: to,
        statusAt: later,
        createdAt: from === '(creation)' ? later : at,
      });
    }
  });

  it('reaches every status, and leaves none that the spec calls terminal', () => {
    const terminal = ['FAILED', 'BLOCKED', 'RETURNED', 'CANCELED'];
    expect(new Set(specTransitions.map(([, , to]) => to))).toEqual(new Set(paymentStatuses));
    expect(specTransitions.filter(([from]) => terminal.includes(from))).toEqual([]);
  });
});

const matrix = starts.flatMap((from) => everyCommand.map((command) => [from, command] as const));

describe('every transition that the table does not list is refused', () => {
  it.each(matrix.map(([from, command]) => [from, nameOf(command), command] as const))(
    '%s × %s',
    (from, _name, command) => {
      const allowed = specTransitions.some(
        (row) => row[0] === from && nameOf(row[3]) === nameOf(command),
      );
      for (const history of histories[from]) {
        const outcome = outcomeOf(payment, history, command);
        if (allowed) expect(outcome).toHaveProperty('events');
        else expect(outcome).toStrictEqual({ refused: refusalFor(from, command) });
      }
    },
  );

  it('covers all statuses and all commands', () => {
    const types = new Set(everyCommand.map((command) => command.type));
    expect(types.size).toBe(10);
    expect(matrix).toHaveLength((paymentStatuses.length + 1) * 12);
    for (const status of paymentStatuses)
      for (const history of histories[status])
        expect(fold<unknown, PaymentEvent>(payment, history)).toMatchObject({ status });
  });
});

function refusalFor(from: PaymentStatus | '(creation)', command: PaymentCommand): string {
  if (command.type === 'QueuePayment' || command.type === 'AwaitConfirmation')
    return 'PAYMENT_ALREADY_EXISTS';
  return from === '(creation)' ? 'PAYMENT_NOT_FOUND' : 'NOT_ALLOWED_IN_STATUS';
}
