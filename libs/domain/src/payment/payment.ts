/**
 * Payment: one transfer between an originator and a contact over one bank rail.
 *
 *   (link)  AWAITING_CONFIRMATION ──► CANCELED
 *                    ▼
 *   (api)  ──────► QUEUED ──► BLOCKED
 *                    │ └────► FAILED ◄──┐
 *                    ▼                  │
 *                PROCESSING ────────────┤
 *                    │ └────► FAILED_IN_FLIGHT
 *                    ▼                │ late signal
 *                COMPLETED ◄──────────┘
 *                    ▼
 *                RETURNED
 *
 * Source: docs/specification.md, "States and transitions". Reads top-down: events, state, evolve, commands, decide.
 */
import {
  type Aggregate,
  type Decision,
  type DomainCommand,
  type DomainEvent,
  unreachable,
} from '../decider.js';
import type { BankAccount, LegalAddress } from '../party.js';
import { detailsOf, type PaymentDetails } from './payment-details.js';
import {
  linkExpiryOf,
  type PaymentLink,
  type PaymentLinkRequest,
  transferAmountMinor,
  withLink,
} from './payment-link.js';
import type { PaymentRail, RailDecision } from './payment-rail.js';
import { canComeBack, canComeBackLater } from './payment-return.js';
import {
  correctionsMax,
  type FailureCode,
  failureOf,
  type LaterReturn,
  laterReturnsMax,
  type PaymentBlock,
  type PaymentClaim,
  type PaymentCorrection,
  type PaymentFailure,
  type PaymentReturn,
  type RailRejection,
} from './rail-facts.js';

export const paymentStatuses = [
  'AWAITING_CONFIRMATION',
  'QUEUED',
  'PROCESSING',
  'COMPLETED',
  'FAILED',
  'FAILED_IN_FLIGHT',
  'BLOCKED',
  'RETURNED',
  'CANCELED',
] as const;
export type PaymentStatus = (typeof paymentStatuses)[number];

/**
 * Nothing more is sent to a bank, and nothing is awaited. A COMPLETED payment may still be returned.
 * FAILED_IN_FLIGHT is not final: it may still settle.
 */
export const finalStatuses: readonly PaymentStatus[] = [
  'COMPLETED',
  'FAILED',
  'BLOCKED',
  'RETURNED',
  'CANCELED',
];

// Events. The name of the fact decides the status; see statusAfter.

export type PaymentEvent = PaymentTransition | PaymentNote;

/** Each changes the status and is public. */
export type PaymentTransition =
  | DomainEvent<'PaymentAwaitingConfirmation', PaymentDetails & { readonly link: PaymentLink }>
  /** From creation it holds everything; from AWAITING_CONFIRMATION it adds the counterparty. */
  | DomainEvent<'PaymentQueued', PaymentDetails>
  | DomainEvent<'PaymentProcessing', PaymentClaim>
  | DomainEvent<'PaymentCompleted', Record<string, never>>
  | DomainEvent<'PaymentFailed', PaymentFailure>
  | DomainEvent<'PaymentFailedInFlight', { readonly failureReason: string }>
  | DomainEvent<'PaymentBlocked', PaymentBlock>
  | DomainEvent<'PaymentReturned', PaymentReturn>
  | DomainEvent<'PaymentCanceled', Record<string, never>>;

/** Changes no status. It is no webhook, and no read of the API shows it. */
export type PaymentNote =
  | DomainEvent<'PaymentCorrected', PaymentCorrection>
  /** The bank rejected a payment that is FAILED_IN_FLIGHT. The specification has no status for it. */
  | DomainEvent<'PaymentRejectedLate', RailRejection>
  /** More of a payment that is RETURNED came back. It is RETURNED once. */
  | DomainEvent<'PaymentReturnedAgain', LaterReturn>;

/** The status a fact leads to. The webhook's event type is `payment.` and the status in lower case. */
export const statusAfter = {
  PaymentAwaitingConfirmation: 'AWAITING_CONFIRMATION',
  PaymentQueued: 'QUEUED',
  PaymentProcessing: 'PROCESSING',
  PaymentCompleted: 'COMPLETED',
  PaymentFailed: 'FAILED',
  PaymentFailedInFlight: 'FAILED_IN_FLIGHT',
  PaymentBlocked: 'BLOCKED',
  PaymentReturned: 'RETURNED',
  PaymentCanceled: 'CANCELED',
} as const satisfies Record<PaymentTransition['type'], PaymentStatus>;

const notes = {
  PaymentCorrected: true,
  PaymentRejectedLate: true,
  PaymentReturnedAgain: true,
} as const satisfies Record<PaymentNote['type'], true>;

/** Whether it is the type of a note, also in a log that has types of newer releases. */
export function isPaymentNote(type: string): type is PaymentNote['type'] {
  return Object.hasOwn(notes, type);
}

export function isTransition(event: PaymentEvent): event is PaymentTransition {
  return !isPaymentNote(event.type);
}

// State: what decide needs and the answer of the API shows.

export interface Payment extends PaymentDetails {
  readonly status: PaymentStatus;
  readonly createdAt: string;
  /** When the current status was reached. */
  readonly statusAt: string;
  /** Null for a payment that needed none. */
  readonly link: PaymentLink | null;
  readonly completedAt: string | null;
  readonly failedAt: string | null;
  readonly returnedAt: string | null;
  readonly canceledAt: string | null;
  readonly failureCode: FailureCode | null;
  readonly failureMessage: string | null;
  readonly failureReason: string | null;
  readonly returnReasonCode: string | null;
  /** The bank's own, of the return; null without one. */
  readonly returnReference: string | null;
  /** Null before a return, and when the whole transfer came back with it. */
  readonly returnedAmountMinor: number | null;
  readonly railReference: string | null;
  /** When it became PROCESSING; null before that. */
  readonly claimedAt: string | null;
  /** Of the claim; null before it, and for a claim of an older release. */
  readonly connection: string | null;
  readonly corrections: readonly PaymentCorrection[];
  readonly lateRejection: RailRejection | null;
  readonly laterReturns: readonly LaterReturn[];
}

/** Null before the first event. */
export type PaymentState = Payment | null;

const noFailure = {
  failedAt: null,
  failureCode: null,
  failureMessage: null,
  failureReason: null,
} as const;

function created(details: PaymentDetails, at: string, status: PaymentStatus): Payment {
  return {
    ...details,
    ...noFailure,
    status,
    createdAt: at,
    statusAt: at,
    link: null,
    completedAt: null,
    returnedAt: null,
    canceledAt: null,
    returnReasonCode: null,
    returnReference: null,
    returnedAmountMinor: null,
    railReference: null,
    claimedAt: null,
    connection: null,
    corrections: [],
    lateRejection: null,
    laterReturns: [],
  };
}

function evolve(state: PaymentState, event: PaymentEvent): PaymentState {
  if (!isTransition(event)) return noted(state, event);
  const status = statusAfter[event.type];
  if (event.type === 'PaymentAwaitingConfirmation') {
    const { link, ...details } = event.data;
    return { ...created(details, event.at, status), link };
  }
  if (event.type === 'PaymentQueued' && state === null)
    return created(event.data, event.at, status);
  if (state === null) throw new Error(`the first event of a payment cannot be ${event.type}`);

  const next = { ...state, status, statusAt: event.at };
  switch (event.type) {
    case 'PaymentQueued':
      return { ...next, ...event.data };
    case 'PaymentProcessing': {
      const { railReference, connection = null } = event.data;
      return { ...next, railReference, claimedAt: event.at, connection };
    }
    case 'PaymentCompleted':
      // A late signal settles it: the failure fields' condition no longer applies (spec, Payment).
      return { ...next, ...noFailure, completedAt: event.at };
    case 'PaymentFailed':
    case 'PaymentFailedInFlight':
      return { ...next, ...event.data, failedAt: event.at };
    case 'PaymentReturned': {
      const { returnReasonCode, returnReference = null, returnedAmountMinor = null } = event.data;
      const returned = { returnReasonCode, returnReference, returnedAmountMinor };
      return { ...next, ...returned, returnedAt: event.at };
    }
    case 'PaymentCanceled':
      return { ...next, canceledAt: event.at };
    case 'PaymentBlocked':
      return next;
    default:
      return unreachable(event);
  }
}

function noted(state: PaymentState, event: PaymentNote): PaymentState {
  if (state === null) throw new Error(`the first event of a payment cannot be ${event.type}`);
  switch (event.type) {
    case 'PaymentCorrected':
      return { ...state, corrections: [...state.corrections, event.data] };
    case 'PaymentRejectedLate':
      return { ...state, lateRejection: event.data };
    case 'PaymentReturnedAgain':
      return { ...state, laterReturns: [...state.laterReturns, event.data] };
    default:
      return unreachable(event);
  }
}

// Commands, and who sends them.

/** The rail is chosen now: the counterparty's bank was not known before. The account holder is the link's. */
export interface CounterpartySubmission {
  readonly bankAccount: BankAccount;
  readonly legalAddress: LegalAddress;
  readonly paymentRail: PaymentRail;
  readonly railDecision: RailDecision;
}

export type PaymentCommand =
  /** api-gateway; dashboard for a direct send. */
  | DomainCommand<'QueuePayment', PaymentDetails>
  /** dashboard: a payment link is needed. */
  | DomainCommand<'AwaitConfirmation', PaymentDetails & { readonly link: PaymentLinkRequest }>
  /** payment-pages: the counterparty answered. */
  | DomainCommand<'SubmitCounterparty', CounterpartySubmission>
  /** dashboard. */
  | DomainCommand<'CancelPayment', Record<string, never>>
  /** rail-executor, this and all that follow. */
  | DomainCommand<'BlockPayment', PaymentBlock>
  | DomainCommand<'ProcessPayment', PaymentClaim>
  | DomainCommand<'CompletePayment', Record<string, never>>
  | DomainCommand<'FailPayment', PaymentFailure>
  | DomainCommand<'FailPaymentInFlight', { readonly failureReason: string }>
  | DomainCommand<'ReturnPayment', PaymentReturn>
  | DomainCommand<'CorrectPayment', PaymentCorrection>
  | DomainCommand<'RejectPaymentLate', RailRejection>
  | DomainCommand<'ReturnPaymentAgain', LaterReturn>;

export type PaymentRefusal =
  | 'PAYMENT_ALREADY_EXISTS'
  | 'PAYMENT_NOT_FOUND'
  | 'AMOUNT_OUT_OF_RANGE'
  | 'BANK_ACCOUNT_REQUIRED'
  | 'LINK_EXPIRED'
  | 'COUNTERPARTY_ERASED'
  | 'NO_RAIL'
  | 'NOT_ALLOWED_IN_STATUS'
  | 'TOO_MANY_CORRECTIONS'
  | 'TOO_MANY_RETURNS';

/** The largest paymentAmount, minor units (rule payment-decision-4). */
export const maxAmountMinor = 99_999_999_999;

/** From which statuses a command may act: read it beside the diagram. */
export const actsFrom = {
  SubmitCounterparty: ['AWAITING_CONFIRMATION'],
  CancelPayment: ['AWAITING_CONFIRMATION'],
  BlockPayment: ['QUEUED'],
  ProcessPayment: ['QUEUED'],
  CompletePayment: ['PROCESSING', 'FAILED_IN_FLIGHT'],
  FailPayment: ['QUEUED', 'PROCESSING'],
  FailPaymentInFlight: ['PROCESSING'],
  ReturnPayment: ['COMPLETED'],
  CorrectPayment: ['PROCESSING', 'FAILED_IN_FLIGHT', 'COMPLETED', 'RETURNED'],
  RejectPaymentLate: ['FAILED_IN_FLIGHT'],
  ReturnPaymentAgain: ['RETURNED'],
} as const satisfies Record<
  Exclude<PaymentCommand['type'], 'QueuePayment' | 'AwaitConfirmation'>,
  readonly PaymentStatus[]
>;

function decide(
  command: PaymentCommand,
  state: PaymentState,
): Decision<PaymentEvent, PaymentRefusal> {
  const { at } = command;
  if (command.type === 'QueuePayment' || command.type === 'AwaitConfirmation') {
    if (state !== null) return { refused: 'PAYMENT_ALREADY_EXISTS' };
    const { amountMinor, originator, contact } = command.data;
    if (!Number.isSafeInteger(amountMinor) || amountMinor < 1 || amountMinor > maxAmountMinor)
      return { refused: 'AMOUNT_OUT_OF_RANGE' };
    if (originator.bankAccount === null) return { refused: 'BANK_ACCOUNT_REQUIRED' };
    if (command.type === 'AwaitConfirmation') return [awaiting(command)];
    if (!contact?.bankAccount) return { refused: 'BANK_ACCOUNT_REQUIRED' };
    return [{ type: 'PaymentQueued', at, data: command.data }];
  }

  if (state === null) return { refused: 'PAYMENT_NOT_FOUND' };
  const from: readonly PaymentStatus[] = actsFrom[command.type];
  if (!from.includes(state.status)) return { refused: 'NOT_ALLOWED_IN_STATUS' };

  switch (command.type) {
    case 'SubmitCounterparty': {
      const { link } = state;
      if (link === null || at >= link.expiresAt) return { refused: 'LINK_EXPIRED' };
      if (link.holder === null) return { refused: 'COUNTERPARTY_ERASED' };
      const { bankAccount, legalAddress, ...rail } = command.data;
      const contact = { id: link.counterpartyId, ...link.holder, legalAddress, bankAccount };
      return [{ type: 'PaymentQueued', at, data: { ...detailsOf(state), ...rail, contact } }];
    }
    case 'CancelPayment':
      return [{ type: 'PaymentCanceled', at, data: {} }];
    case 'BlockPayment':
      return [{ type: 'PaymentBlocked', at, data: command.data }];
    case 'ProcessPayment':
      if (state.railDecision?.isPossible === false) return { refused: 'NO_RAIL' };
      return [{ type: 'PaymentProcessing', at, data: command.data }];
    case 'CompletePayment':
      return [{ type: 'PaymentCompleted', at, data: {} }];
    case 'FailPayment':
      return [{ type: 'PaymentFailed', at, data: failureOf(command.data) }];
    case 'FailPaymentInFlight':
      return [{ type: 'PaymentFailedInFlight', at, data: command.data }];
    case 'ReturnPayment':
      return returned(command, state);
    case 'CorrectPayment': {
      const { corrected } = command.data;
      if (state.corrections.some((known) => known.corrected === corrected)) return [];
      if (state.corrections.length >= correctionsMax) return { refused: 'TOO_MANY_CORRECTIONS' };
      return [{ type: 'PaymentCorrected', at, data: command.data }];
    }
    case 'RejectPaymentLate':
      return state.lateRejection === null
        ? [{ type: 'PaymentRejectedLate', at, data: command.data }]
        : [];
    case 'ReturnPaymentAgain':
      return returnedAgain(command, state);
    default:
      return unreachable(command);
  }
}

/** The event names an amount only where it is less than what was sent. */
function returned(
  { at, data }: Extract<PaymentCommand, { type: 'ReturnPayment' }>,
  state: Payment,
): Decision<PaymentEvent, PaymentRefusal> {
  const { returnedAmountMinor, ...whole } = data;
  const sentAmountMinor = transferAmountMinor(state);
  if (returnedAmountMinor === undefined || returnedAmountMinor === sentAmountMinor)
    return [{ type: 'PaymentReturned', at, data: whole }];
  const { paymentRail } = state;
  return canComeBack(returnedAmountMinor, { paymentRail, sentAmountMinor })
    ? [{ type: 'PaymentReturned', at, data }]
    : { refused: 'AMOUNT_OUT_OF_RANGE' };
}

function returnedAgain(
  { at, data }: Extract<PaymentCommand, { type: 'ReturnPaymentAgain' }>,
  state: Payment,
): Decision<PaymentEvent, PaymentRefusal> {
  const known = [state, ...state.laterReturns].map(({ returnReference }) => returnReference);
  if (known.includes(data.returnReference)) return [];
  if (!canComeBackLater(data.returnedAmountMinor, state)) return { refused: 'AMOUNT_OUT_OF_RANGE' };
  if (state.laterReturns.length >= laterReturnsMax) return { refused: 'TOO_MANY_RETURNS' };
  return [{ type: 'PaymentReturnedAgain', at, data }];
}

/** What is asked for is not recorded before it was answered: not the account on file, nor its address. */
function awaiting({
  at,
  data,
}: Extract<PaymentCommand, { type: 'AwaitConfirmation' }>): PaymentTransition {
  const isSaved = data.contactId !== null && data.contact !== null;
  const contact = isSaved ? { ...data.contact, legalAddress: null, bankAccount: null } : null;
  const link = { ...data.link, expiresAt: linkExpiryOf(at) };
  return { type: 'PaymentAwaitingConfirmation', at, data: { ...data, contact, link } };
}

export const payment: Aggregate<PaymentState, PaymentCommand, PaymentEvent, PaymentRefusal> = {
  category: 'payment',
  initial: null,
  decide,
  evolve,
  schemaVersions: {
    PaymentAwaitingConfirmation: 3,
    PaymentQueued: 2,
    PaymentProcessing: 1,
    PaymentCompleted: 1,
    PaymentFailed: 1,
    PaymentFailedInFlight: 1,
    PaymentBlocked: 1,
    PaymentReturned: 1,
    PaymentCanceled: 1,
    PaymentCorrected: 1,
    PaymentRejectedLate: 1,
    PaymentReturnedAgain: 1,
  },
  upcast: (type, schemaVersion, data) =>
    type === 'PaymentAwaitingConfirmation' && schemaVersion < 3 ? withLink(data) : data,
};
