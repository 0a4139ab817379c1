/**
 * The rules of payments as the specification states them ("States and transitions"), written down a second time: the
 * audit must not trust the code that it checks. Collections of fees move by the same rules.
 */

export type Status =
  | 'AWAITING_CONFIRMATION'
  | 'QUEUED'
  | 'PROCESSING'
  | 'COMPLETED'
  | 'FAILED'
  | 'FAILED_IN_FLIGHT'
  | 'BLOCKED'
  | 'RETURNED'
  | 'CANCELED';

/** Null: before the first event. */
export type From = Status | null;

interface Rule {
  readonly from: readonly From[];
  /** Null for a note, which changes no status. */
  readonly to: Status | null;
}

const rules: Readonly<Record<string, Rule>> = {
  PaymentAwaitingConfirmation: { from: [null], to: 'AWAITING_CONFIRMATION' },
  PaymentQueued: { from: [null, 'AWAITING_CONFIRMATION'], to: 'QUEUED' },
  PaymentCanceled: { from: ['AWAITING_CONFIRMATION'], to: 'CANCELED' },
  PaymentProcessing: { from: ['QUEUED'], to: 'PROCESSING' },
  PaymentBlocked: { from: ['QUEUED'], to: 'BLOCKED' },
  PaymentFailed: { from: ['QUEUED', 'PROCESSING'], to: 'FAILED' },
  PaymentCompleted: { from: ['PROCESSING', 'FAILED_IN_FLIGHT'], to: 'COMPLETED' },
  PaymentFailedInFlight: { from: ['PROCESSING'], to: 'FAILED_IN_FLIGHT' },
  PaymentReturned: { from: ['COMPLETED'], to: 'RETURNED' },
  // Beyond the specification: what the bank says later, for staff.
  PaymentCorrected: {
    from: ['PROCESSING', 'FAILED_IN_FLIGHT', 'COMPLETED', 'RETURNED'],
    to: null,
  },
  PaymentRejectedLate: { from: ['FAILED_IN_FLIGHT'], to: null },
  PaymentReturnedAgain: { from: ['RETURNED'], to: null },
};

export interface Transition {
  readonly isLegal: boolean;
  /** The status that it leads to; null for a note, which changes none. */
  readonly to: Status | null;
}

/** What an event of this type does in a status, and whether the specification allows it. Null for an unknown type. */
export function transitionOf(from: From, type: string): Transition | null {
  const rule = Object.hasOwn(rules, type) ? rules[type] : undefined;
  return rule === undefined ? null : { isLegal: rule.from.includes(from), to: rule.to };
}

export const statuses: readonly Status[] = [
  'AWAITING_CONFIRMATION',
  'QUEUED',
  'PROCESSING',
  'COMPLETED',
  'FAILED',
  'FAILED_IN_FLIGHT',
  'BLOCKED',
  'RETURNED',
  'CANCELED',
];
