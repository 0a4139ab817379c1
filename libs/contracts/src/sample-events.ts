/**
 * The samples that test deliveries carry (rules webhook-test-1 to webhook-test-7). A sample payment lives through its statuses
 * by the commands of the domain, so that its event is one that a real payment could have.
 */
import {
  type AccountHolder,
  isRefusal,
  payment as payments,
  type PaymentCommand,
  type PaymentDetails,
  type PaymentEventType,
  type PaymentState,
  type PaymentStatus,
} from '@pis/domain';
import { paymentEventData } from './integration-events.js';

/** Makes a random UUID: this library has no randomness of its own. */
export type NewId = () => string;

export interface SampleEvent {
  readonly eventId: string;
  readonly eventType: PaymentEventType | 'TEST';
  /** ISO 8601. */
  readonly occurredAt: string;
  readonly data: unknown;
}

/** The sample of a test without an event type. */
export function testEvent(endpointId: string, at: string, newId: NewId): SampleEvent {
  const data = { webhookEndpointId: endpointId, message: 'This is a test delivery.' };
  return { eventId: newId(), eventType: 'TEST', occurredAt: at, data };
}

export function samplePaymentEvent(
  eventType: PaymentEventType,
  at: string,
  newId: NewId,
): SampleEvent {
  let state: PaymentState = payments.initial;
  let previousStatus: PaymentStatus | null = null;
  for (const command of livesOf(detailsOf(newId), at)[eventType]) {
    previousStatus = state?.status ?? null;
    state = after(state, command);
  }
  if (state === null) throw new Error(`the sample of ${eventType} has no commands`);
  const data = paymentEventData(state, previousStatus);
  return { eventId: newId(), eventType, occurredAt: at, data };
}

function after(state: PaymentState, command: PaymentCommand): PaymentState {
  const decision = payments.decide(command, state);
  if (isRefusal(decision)) throw new Error(`a sample payment was refused: ${decision.refused}`);
  return decision.reduce(payments.evolve, state);
}

/** The commands that lead to each event, the event's own command last. */
function livesOf(
  details: PaymentDetails,
  at: string,
): Readonly<Record<PaymentEventType, readonly PaymentCommand[]>> {
  const failureReason = 'A sample reason, for people.';
  const link = {
    tokenDigest: '',
    sealedToken: '',
    holder: holderOf(details.contact),
    counterpartyId: details.contactId ?? details.paymentId,
    createdBy: null,
  };
  const awaiting = { ...details, link };
  const awaitCounterparty: PaymentCommand = { type: 'AwaitConfirmation', at, data: awaiting };
  const queue: PaymentCommand = { type: 'QueuePayment', at, data: details };
  const processing = { railReference: details.paymentId };
  const process: PaymentCommand = { type: 'ProcessPayment', at, data: processing };
  const complete: PaymentCommand = { type: 'CompletePayment', at, data: {} };
  const fail: PaymentCommand = {
    type: 'FailPayment',
    at,
    data: {
      failureCode: 'INVALID_CONTACT_DATA',
      failureMessage: "The contact's bankAccount.achAccountNumber was rejected (sample).",
      failureReason,
    },
  };
  return {
    'payment.awaiting_confirmation': [awaitCounterparty],
    'payment.canceled': [awaitCounterparty, { type: 'CancelPayment', at, data: {} }],
    'payment.queued': [queue],
    'payment.blocked': [queue, { type: 'BlockPayment', at, data: {} }],
    'payment.failed': [queue, fail],
    'payment.processing': [queue, process],
    'payment.failed_in_flight': [
      queue,
      process,
      { type: 'FailPaymentInFlight', at, data: { failureReason } },
    ],
    'payment.completed': [queue, process, complete],
    'payment.returned': [
      queue,
      process,
      complete,
      { type: 'ReturnPayment', at, data: { returnReasonCode: 'R01' } },
    ],
  };
}

function holderOf(contact: PaymentDetails['contact']): AccountHolder | null {
  if (contact === null) return null;
  const { entityType, firstName, lastName, companyName } = contact;
  return { entityType, firstName, lastName, companyName };
}

function detailsOf(newId: NewId): PaymentDetails {
  const [paymentId, organizationId, originatorId, contactId] = [newId(), newId(), newId(), newId()];
  const bankAccount = {
    bankName: 'Sample Bank',
    swiftCode: null,
    subType: 'CHECKING',
    achRoutingNumber: '*****0021',
    achAccountNumber: '********6789',
    sealed: '',
  } as const;
  return {
    paymentId,
    organizationId,
    originatorId,
    contactId,
    amountMinor: 12_500,
    discountFeeMinor: 0,
    flatFeeMinor: 25,
    returnFeeMinor: 400,
    currencyCode: 'USD',
    paymentRail: 'ACH',
    direction: 'OUTBOUND',
    paymentNote: 'Sample payment',
    externalPaymentId: 'sample-1',
    idempotencyKey: null,
    originator: {
      id: originatorId,
      entityType: 'BUSINESS',
      firstName: null,
      lastName: null,
      companyName: 'Sample Trading LLC',
      bankAccount,
    },
    contact: {
      id: contactId,
      entityType: 'INDIVIDUAL',
      firstName: 'Sam',
      lastName: 'Sample',
      companyName: null,
      bankAccount,
    },
  };
}
