/** All examples of the OpenAPI document, about the same few records. A test checks them against their schemas. */
import { type PaymentEventType, paymentEventTypeOf, type PaymentStatus } from '@pis/domain';
import type {
  WebhookDeliveryDetailView,
  WebhookDeliveryView,
  WebhookReplayView,
} from '../delivery-view.js';
import type { ContactView, OriginatorView, WebhookEndpointView } from '../directory-view.js';
import type { ExportView } from '../export-view.js';
import type { PaymentEventData } from '../integration-events.js';
import type { PaymentListItem, PaymentView } from '../payment-view.js';

export const originatorId = '5b0c2f7e-3a7d-4a49-9d0e-6c1f2f8f7a01';
export const contactId = '0f9f3c52-8b1e-4b5c-8a76-1d2f4f1f9c02';
export const paymentId = 'c7b1e0a4-52d1-5c3e-9f0a-3b6f0f7d4e03';
export const webhookId = '9e6a1d83-6c0b-4f1e-b7d5-2a8e5c9b1f04';
export const statementId = 'e2d4c6b8-1a3f-4e5d-8c7b-6f5e4d3c2b05';
export const deliveryId = 'a3c5e7f9-1b2d-5e4f-8a6b-7c9d0e1f2a07';
export const replayId = '6b8d0f1a-3c5e-4a7f-9b2d-4e6f8a0c1b08';
const eventId = '4d8f0b1a-7c2e-4a6f-9b3d-5e1c7a9f0d06';
export const cursor = 'MjAyNi0wMy0wMlQxNTowNDowNS4xMjNaL2M3YjFlMGE0';
export const idempotencyKey = 'invoice-1042';

const createdAt = '2026-03-02T15:04:05.123Z';
const processedAt = '2026-03-02T15:04:07.480Z';
const settledAt = '2026-03-02T15:06:11.902Z';
export const timestamp = '2026-03-02T15:10:00.000Z';

export const legalAddress = {
  addressLine1: '1 Main Street',
  city: 'New York',
  state: 'NY',
  postalCode: '10001',
  countryCode: 'US',
};
export const bankAccountRequest = {
  subType: 'CHECKING',
  achRoutingNumber: '021000021',
  achAccountNumber: '000123456789',
};
const bankAccount = {
  bankName: 'JPMorgan Chase Bank',
  swiftCode: null,
  subType: 'CHECKING',
  achRoutingNumber: '*****0021',
  achAccountNumber: '********6789',
};

export const originator: OriginatorView = {
  originatorId,
  entityType: 'BUSINESS',
  firstName: null,
  lastName: null,
  companyName: 'Example Trading LLC',
  email: 'accounts@example.com',
  phoneNumber: '+12125550100',
  legalAddress,
  createdAt: '2026-01-05T09:00:00.000Z',
  updatedAt: '2026-01-05T09:00:00.000Z',
  bankAccount: { ...bankAccount, achAccountNumber: '********4321' },
};
export const contact: ContactView = {
  contactId,
  originatorId,
  entityType: 'INDIVIDUAL',
  firstName: 'Ada',
  lastName: 'Moreno',
  companyName: null,
  email: 'ada.moreno@example.com',
  phoneNumber: '+12125550123',
  legalAddress,
  createdAt: '2026-02-11T10:30:00.000Z',
  updatedAt: '2026-02-11T10:30:00.000Z',
  bankAccount,
};
export const contactRequest = {
  originatorId,
  entityType: 'INDIVIDUAL',
  firstName: 'Ada',
  lastName: 'Moreno',
  email: 'ada.moreno@example.com',
  phoneNumber: '+12125550123',
  legalAddress,
  bankAccount: bankAccountRequest,
};
export const businessRequest = {
  originatorId,
  entityType: 'BUSINESS',
  companyName: 'Moreno Consulting Inc',
  email: 'office@moreno.example.com',
  bankAccount: { ...bankAccountRequest, subType: 'SAVINGS' },
};

export const paymentRequest = {
  originatorId,
  contactId,
  paymentAmount: 125_000,
  direction: 'OUTBOUND',
  paymentNote: 'Invoice 1042',
  externalPaymentId: 'invoice-1042',
};

const asItWas = {
  originator: {
    id: originatorId,
    firstName: null,
    lastName: null,
    companyName: originator.companyName,
    entityType: originator.entityType,
  },
  contact: {
    id: contactId,
    firstName: contact.firstName,
    lastName: contact.lastName,
    companyName: null,
    entityType: contact.entityType,
  },
} as const;

/** What every status has in common with the others; see `paymentIn`. */
const listItem: PaymentListItem = {
  paymentId,
  status: 'QUEUED',
  createdAt,
  completedAt: null,
  failedAt: null,
  returnedAt: null,
  canceledAt: null,
  paymentAmount: 125_000,
  discountFee: 625,
  flatFee: 25,
  returnFee: 400,
  currencyCode: 'USD',
  paymentRail: 'ACH',
  direction: 'OUTBOUND',
  paymentNote: 'Invoice 1042',
  externalPaymentId: 'invoice-1042',
  failureCode: null,
  failureMessage: null,
  ...asItWas,
};
const queued: PaymentView = {
  ...listItem,
  failureReason: null,
  returnReasonCode: null,
  originator: { ...asItWas.originator, bankAccount: originator.bankAccount },
  contact: { ...asItWas.contact, bankAccount },
};

const rejected = 'The contact’s bankAccount.achAccountNumber was rejected by the receiving bank.';
/** The fields that differ by status, and the previous status. */
const peculiar: Readonly<Record<PaymentStatus, Partial<PaymentEventData>>> = {
  AWAITING_CONFIRMATION: {
    previousStatus: null,
    direction: 'INBOUND',
    contact: { ...asItWas.contact, bankAccount: null },
  },
  QUEUED: { previousStatus: null },
  PROCESSING: { previousStatus: 'QUEUED' },
  COMPLETED: { previousStatus: 'PROCESSING', completedAt: settledAt },
  FAILED: {
    previousStatus: 'QUEUED',
    failedAt: processedAt,
    failureCode: 'INVALID_CONTACT_DATA',
    failureMessage: rejected,
    failureReason: rejected,
  },
  FAILED_IN_FLIGHT: {
    previousStatus: 'PROCESSING',
    failedAt: settledAt,
    failureReason: 'No confirmation within the normal time.',
  },
  BLOCKED: { previousStatus: 'QUEUED' },
  RETURNED: {
    previousStatus: 'COMPLETED',
    completedAt: settledAt,
    returnedAt: '2026-03-04T11:20:30.250Z',
    returnReasonCode: 'R01',
  },
  CANCELED: {
    previousStatus: 'AWAITING_CONFIRMATION',
    direction: 'INBOUND',
    canceledAt: settledAt,
    contact: null,
  },
};

export const completedItem: PaymentListItem = {
  ...listItem,
  status: 'COMPLETED',
  completedAt: settledAt,
};

export function paymentIn(status: PaymentStatus): PaymentView {
  const { previousStatus: _, ...payment } = eventDataOf(status);
  return payment;
}

function eventDataOf(status: PaymentStatus): PaymentEventData {
  return { ...queued, previousStatus: null, ...peculiar[status], status };
}

/** The delivery that reports a payment's new status. */
export function paymentEvent(status: PaymentStatus): {
  readonly eventType: PaymentEventType;
  readonly data: PaymentEventData;
} {
  return { ...envelope, eventType: paymentEventTypeOf(status), data: eventDataOf(status) };
}

const envelope = { id: eventId, version: '1', createdAt: settledAt, synthetic: false } as const;

export const statement = {
  statementId,
  originatorId,
  periodYear: 2026,
  periodMonth: 2,
  generatedAt: '2026-03-01T00:10:00.000Z',
  sizeBytes: 48_213,
  sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
};
export const verifierKey =
  'pis-audit-91c1d2f0+6b1f0f2e+AepKbGPinFIKvvVQezzMRBkDCnuxxiJVEFo7UXu1bf4Z';
export const checkpoint = {
  treeSize: 1,
  rootHash: 'qD3nTzhWw8TqL0vMrhYXB3nq9Hzvh0v3rJkzn3Jm1mQ=',
  createdAt: '2026-03-01T00:10:00.000Z',
  note: 'pis-audit-91c1d2f0\n1\nqD3nTzhWw8TqL0vMrhYXB3nq9Hzvh0v3rJkzn3Jm1mQ=\n\n— pis-audit-91c1d2f0 ax8PLg==\n',
};
export const paymentProof = {
  checkpoint: checkpoint.note,
  treeSize: 1,
  events: [{ index: 0, leaf: 'e30=', proof: [] }],
};
export const exportId = 'b7d1f0a2-5c34-4e8f-9a6b-2d1c0e9f8a06';
export const exportRequest = {
  kind: 'payments',
  format: 'csv',
  from: '2026-02-01',
  to: '2026-02-28',
};
export const completedExport: ExportView = {
  exportId,
  status: 'completed',
  kind: 'payments',
  format: 'csv',
  from: '2026-02-01T00:00:00.000Z',
  to: '2026-02-28T23:59:59.999Z',
  originatorId: null,
  rows: 1_024,
  sizeBytes: 412_873,
  sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  progress: 1,
  createdAt: '2026-03-01T09:00:00.000Z',
  startedAt: '2026-03-01T09:00:00.412Z',
  finishedAt: '2026-03-01T09:00:01.108Z',
  expiresAt: '2026-03-08T09:00:01.108Z',
  reason: null,
};
export const canceledExport: ExportView = {
  ...completedExport,
  status: 'canceled',
  sha256: null,
  progress: 0.5,
  expiresAt: null,
};
export const statementEvent = {
  ...envelope,
  eventType: 'statement.generated',
  data: { statementId, originatorId, periodYear: 2026, periodMonth: 2 },
};
export const testEvent = {
  ...envelope,
  eventType: 'TEST',
  synthetic: true,
  data: { webhookEndpointId: webhookId, message: 'This is a test delivery.' },
};

export const webhookRequest = {
  url: 'https://hooks.example.com/payments',
  subscribedEvents: ['payment.*'],
  label: 'Ledger',
};
export const webhookEndpoint: WebhookEndpointView = {
  id: webhookId,
  ...webhookRequest,
  enabled: true,
  health: 'healthy',
  failingSince: null,
  createdAt,
  updatedAt: createdAt,
};
/** The hexadecimal digits in order, so that no one mistakes it for a real secret. */
export const webhookSecret = '0123456789abcdef'.repeat(4);

export const delivery: WebhookDeliveryView = {
  deliveryId,
  webhookId,
  eventId,
  eventType: 'payment.completed',
  paymentId,
  occurredAt: settledAt,
  state: 'delivered',
  replayed: false,
  attemptCount: 1,
  createdAt: settledAt,
  nextAttemptAt: null,
  finishedAt: '2026-03-02T15:06:12.004Z',
  finishedReason: null,
  lastStatusCode: 204,
  lastError: null,
};
export const pendingDelivery: WebhookDeliveryView = {
  ...delivery,
  state: 'pending',
  nextAttemptAt: '2026-03-02T15:10:00.000Z',
  finishedAt: null,
};
export const deliveryDetail: WebhookDeliveryDetailView = {
  ...pendingDelivery,
  nextAttemptAt: '2026-03-02T15:06:42.310Z',
  lastStatusCode: 500,
  attempts: [
    {
      attempt: 1,
      at: '2026-03-02T15:06:11.960Z',
      statusCode: 500,
      durationMs: 87,
      error: null,
      responseExcerpt: 'out of order',
    },
  ],
  payload: paymentEvent('COMPLETED'),
};
export const replay: WebhookReplayView = {
  replayId,
  webhookId,
  from: '2026-03-01T00:00:00.000Z',
  to: '2026-03-01T23:59:59.999Z',
  eventTypes: ['payment.completed', 'payment.failed'],
  state: 'completed',
  eventsSent: 1_042,
  reachedAt: '2026-03-01T23:58:10.101Z',
  requestedAt: timestamp,
  finishedAt: '2026-03-02T15:10:21.400Z',
};
export const replayBegun: Partial<WebhookReplayView> = {
  state: 'running',
  eventsSent: 0,
  reachedAt: null,
  finishedAt: null,
};
