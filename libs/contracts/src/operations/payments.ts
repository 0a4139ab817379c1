/** Payments, and the sandbox’s operation to simulate their outcomes. Each operation is declared once: see operation.ts. */
import * as examples from '../openapi/examples.js';
import {
  paymentCreateSchema,
  paymentListReadSchema,
  paymentReadSchema,
  simulateSchema,
} from '../payment-requests.js';
import * as responses from '../responses.js';
import {
  answered,
  first,
  idempotencyKey,
  onBody,
  onQuery,
  onRecord,
  operation,
  readers,
  writers,
} from './operation.js';

const onPayment = { name: 'paymentId', of: 'payment', example: examples.paymentId } as const;

export const createPayment = operation({
  method: 'POST',
  path: '/v1/payments/',
  access: writers,
  operationId: 'createPayment',
  tag: 'Payments',
  summary: 'Create a payment',
  description:
    'The payment starts in QUEUED and is then executed on the rail. The same Idempotency-Key with the same body always returns the original 201. With another body it is a 409. Any other answer leaves the key unused. Before an INBOUND payment you must hold the contact’s authorization to debit the account.',
  headers: idempotencyKey,
  body: paymentCreateSchema,
  examples: {
    outbound: examples.paymentRequest,
    inbound: {
      originatorId: examples.originatorId,
      contactId: examples.contactId,
      paymentAmount: 4_990,
      direction: 'INBOUND',
    },
  },
  answers: {
    201: {
      description: 'Created, by this request or by an earlier one with the same key.',
      data: responses.paymentCreatedSchema,
      examples: { created: { paymentId: examples.paymentId } },
    },
  },
  links: [
    { to: 'getPayment', parameters: { paymentId: answered('paymentId') } },
    {
      to: 'listPayments',
      parameters: { idempotencyKey: '$request.header.Idempotency-Key' },
    },
    { to: 'simulatePayment', parameters: { paymentId: answered('paymentId') } },
  ],
  errors: [
    'IDEMPOTENCY_KEY_REQUIRED',
    ...onBody,
    'NOT_FOUND',
    'IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY',
  ],
});

export const getPayment = operation({
  method: 'GET',
  path: '/v1/payments/{paymentId}',
  access: readers,
  operationId: 'getPayment',
  tag: 'Payments',
  summary: 'Get a payment',
  description:
    'Always current, unless you ask with `asOf` for the payment as it was. Prefer webhooks to polling. If you poll, do so at most every 15 minutes, until a terminal status.',
  ids: [onPayment],
  query: paymentReadSchema,
  answers: {
    200: {
      description: 'The payment.',
      data: responses.paymentSchema,
      examples: {
        completed: examples.paymentIn('COMPLETED'),
        failed: examples.paymentIn('FAILED'),
        returned: examples.paymentIn('RETURNED'),
        awaitingConfirmation: examples.paymentIn('AWAITING_CONFIRMATION'),
      },
    },
  },
  links: [{ to: 'simulatePayment', parameters: { paymentId: answered('paymentId') } }],
  errors: onRecord,
});

export const listPayments = operation({
  method: 'GET',
  path: '/v1/payments/',
  access: readers,
  operationId: 'listPayments',
  tag: 'Payments',
  summary: 'List payments',
  description: 'Newest first, in pages. Use the same filters for every page.',
  query: paymentListReadSchema,
  answers: {
    200: {
      description: 'A page of payments.',
      data: responses.paymentListItemSchema,
      list: responses.pageMetaSchema,
      examples: { page: [examples.completedItem] },
    },
  },
  links: [
    { to: 'getPayment', parameters: { paymentId: first('paymentId') } },
    { to: 'simulatePayment', parameters: { paymentId: first('paymentId') } },
  ],
  errors: onQuery,
});

export const simulatePayment = operation({
  method: 'POST',
  path: '/v1/sandbox/payments/{paymentId}/simulate',
  access: writers,
  operationId: 'simulatePayment',
  tag: 'Sandbox',
  summary: 'Move a payment to a status by hand',
  sandboxOnly: true,
  ids: [onPayment],
  body: simulateSchema,
  examples: {
    complete: { outcome: 'complete' },
    return: { outcome: 'return', returnReasonCode: 'R01' },
  },
  answers: {
    200: {
      description: 'The payment in its new status.',
      data: responses.paymentSchema,
      examples: { returned: examples.paymentIn('RETURNED') },
    },
  },
  links: [{ to: 'getPayment', parameters: { paymentId: answered('paymentId') } }],
  errors: [...onBody, 'NOT_FOUND', 'CONFLICT'],
});
