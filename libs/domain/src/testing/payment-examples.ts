/** Example payments: a command of every type, and for every status the histories that lead to it. */
import type { PaymentParty } from '../party.js';
import type { PaymentCommand, PaymentEvent, PaymentStatus } from '../payment/payment.js';
import type { PaymentDetails } from '../payment/payment-details.js';
import type { PaymentLink, PaymentLinkRequest } from '../payment/payment-link.js';
import type { RailDecision } from '../payment/payment-rail.js';
import type {
  FailureCode,
  LaterReturn,
  PaymentCorrection,
  RailRejection,
} from '../payment/rail-facts.js';
import { at, bankAccountExample, ids, later, legalAddress } from './examples.js';

export const originatorParty: PaymentParty = {
  id: ids.originator,
  entityType: 'BUSINESS',
  firstName: null,
  lastName: null,
  companyName: 'Northwind Traders LLC',
  bankAccount: bankAccountExample({ sealed: 'v1.sealed-originator-account' }),
};

export const contactParty: PaymentParty = {
  id: ids.contact,
  entityType: 'INDIVIDUAL',
  firstName: 'Ada',
  lastName: 'Moreno',
  companyName: null,
  bankAccount: bankAccountExample(),
};

export const railDecisionExample: RailDecision = {
  achService: null,
  isPossible: true,
  expectedSettlementAt: later,
  nextCutoffAt: null,
  rejected: [{ paymentRail: 'FEDNOW', achService: null, code: 'bank_not_reachable' }],
};

export function paymentExample(overrides: Partial<PaymentDetails> = {}): PaymentDetails {
  return {
    paymentId: ids.payment,
    organizationId: ids.organization,
    originatorId: ids.originator,
    contactId: ids.contact,
    amountMinor: 125_000,
    discountFeeMinor: 312,
    flatFeeMinor: 50,
    returnFeeMinor: 400,
    currencyCode: 'USD',
    paymentRail: 'ACH',
    direction: 'OUTBOUND',
    paymentNote: 'Invoice 1042',
    externalPaymentId: 'inv-1042',
    idempotencyKey: 'key-1042',
    originator: originatorParty,
    contact: contactParty,
    ...overrides,
  };
}

/** When the link of the examples expires: 30 days after creation (rule payment-link-4). */
export const expiresAt = '2026-12-21T09:00:00.000Z';

/** A link for somebody who is no saved contact. */
export const linkRequest: PaymentLinkRequest = {
  tokenDigest: 'd1'.repeat(32),
  sealedToken: 'v3.sealed-token',
  holder: { entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Moreno', companyName: null },
  counterpartyId: ids.contact,
  createdBy: 'user-1',
};
export const linkExample: PaymentLink = { ...linkRequest, expiresAt };

const awaitingDetails = paymentExample({ contactId: null, contact: null, idempotencyKey: null });
const awaitingData = { ...awaitingDetails, link: linkExample };
const failure = (failureCode: FailureCode) => ({
  failureCode,
  failureMessage: 'bankAccount.achAccountNumber was rejected',
  failureReason: 'bankAccount.achAccountNumber was rejected',
});

export const correction: PaymentCorrection = { changeCode: 'C01', corrected: 'v2.sealed-account' };

export const rejectionExample: RailRejection = {
  failureCode: 'INVALID_CONTACT_DATA',
  field: 'bankAccount.achAccountNumber',
  message: 'bankAccount.achAccountNumber: the account is closed',
  reason: 'The account is closed.',
  railCode: 'AC04',
};

export const laterReturnExample: LaterReturn = {
  returnReasonCode: null,
  returnReference: 'bank-8',
  returnedAmountMinor: 1_500,
};

/** One command of each type, all accepted at `later`. */
export const paymentCommands = {
  QueuePayment: { type: 'QueuePayment', at: later, data: paymentExample() },
  AwaitConfirmation: {
    type: 'AwaitConfirmation',
    at: later,
    data: { ...awaitingDetails, link: linkRequest },
  },
  SubmitCounterparty: {
    type: 'SubmitCounterparty',
    at: later,
    data: {
      bankAccount: bankAccountExample(),
      legalAddress,
      paymentRail: 'RTP',
      railDecision: railDecisionExample,
    },
  },
  CancelPayment: { type: 'CancelPayment', at: later, data: {} },
  BlockPayment: { type: 'BlockPayment', at: later, data: {} },
  ProcessPayment: { type: 'ProcessPayment', at: later, data: { railReference: 'rail-1' } },
  CompletePayment: { type: 'CompletePayment', at: later, data: {} },
  FailPayment: { type: 'FailPayment', at: later, data: failure('INTERNAL_ERROR') },
  FailPaymentInFlight: {
    type: 'FailPaymentInFlight',
    at: later,
    data: { failureReason: 'no confirmation from the rail' },
  },
  ReturnPayment: { type: 'ReturnPayment', at: later, data: { returnReasonCode: 'R01' } },
  CorrectPayment: { type: 'CorrectPayment', at: later, data: correction },
  RejectPaymentLate: { type: 'RejectPaymentLate', at: later, data: rejectionExample },
  ReturnPaymentAgain: { type: 'ReturnPaymentAgain', at: later, data: laterReturnExample },
} as const satisfies { [Type in PaymentCommand['type']]: PaymentCommand & { type: Type } };

export function failPayment(failureCode: FailureCode): PaymentCommand {
  return { type: 'FailPayment', at: later, data: failure(failureCode) };
}

export const paymentEvents = {
  awaiting: { type: 'PaymentAwaitingConfirmation', at, data: awaitingData },
  queued: { type: 'PaymentQueued', at, data: paymentExample() },
  queuedFromLink: {
    type: 'PaymentQueued',
    at,
    data: paymentExample({ contactId: null, idempotencyKey: null }),
  },
  processing: { type: 'PaymentProcessing', at, data: { railReference: 'rail-1' } },
  completed: { type: 'PaymentCompleted', at, data: {} },
  failed: { type: 'PaymentFailed', at, data: failure('INTERNAL_ERROR') },
  failedInFlight: {
    type: 'PaymentFailedInFlight',
    at,
    data: { failureReason: 'no confirmation from the rail' },
  },
  blocked: { type: 'PaymentBlocked', at, data: {} },
  returned: { type: 'PaymentReturned', at, data: { returnReasonCode: 'R01' } },
  canceled: { type: 'PaymentCanceled', at, data: {} },
  corrected: { type: 'PaymentCorrected', at, data: correction },
  rejectedLate: { type: 'PaymentRejectedLate', at, data: rejectionExample },
  returnedAgain: { type: 'PaymentReturnedAgain', at, data: laterReturnExample },
} as const satisfies Record<string, PaymentEvent>;

const { awaiting, queued, queuedFromLink, processing, completed, failedInFlight } = paymentEvents;
const { failed, blocked, returned, canceled } = paymentEvents;
const late = [queued, processing, failedInFlight, completed];

/** For each status the ways to it; `(creation)` is before the first event. */
export const paymentHistories: Readonly<
  Record<PaymentStatus | '(creation)', readonly (readonly PaymentEvent[])[]>
> = {
  '(creation)': [[]],
  AWAITING_CONFIRMATION: [[awaiting]],
  QUEUED: [[queued], [awaiting, queuedFromLink]],
  PROCESSING: [
    [queued, processing],
    [awaiting, queuedFromLink, processing],
  ],
  COMPLETED: [[queued, processing, completed], late],
  FAILED: [
    [queued, failed],
    [queued, processing, failed],
  ],
  FAILED_IN_FLIGHT: [[queued, processing, failedInFlight]],
  BLOCKED: [[queued, blocked]],
  RETURNED: [
    [queued, processing, completed, returned],
    [...late, returned],
  ],
  CANCELED: [[awaiting, canceled]],
};
