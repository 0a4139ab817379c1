/**
 * Every operation of the API, once: what it takes, what it answers and how it can fail. The gateway
 * compares this table with its routes.
 */
import { contactListSchema, originatorListSchema } from '../party-requests.js';
import { paymentListSchema } from '../payment-requests.js';
import * as examples from './examples.js';
import { answered, first, onBody, onQuery, onRecord, type Operation } from './operation.js';
import { deliveryOperations } from './delivery-operations.js';
import { statementOperations, webhookOperations } from './webhook-operations.js';

const onContact = { name: 'contactId', of: 'contact', example: examples.contactId };
const onPayment = { name: 'paymentId', of: 'payment', example: examples.paymentId };
const wholeOrPaged =
  'Newest first. Everything when called without `limit` and `cursor`; with one of them in pages.';

const parties: readonly Operation[] = [
  {
    method: 'get',
    path: '/v1/originators/',
    operationId: 'listOriginators',
    tag: 'Originators',
    summary: 'List originators',
    description: `${wholeOrPaged} A successful call also verifies the API key.`,
    query: originatorListSchema.shape,
    success: {
      status: 200,
      description: 'The originators of your organization.',
      schema: 'Originator',
      list: 'ListMeta',
      examples: { originators: [examples.originator] },
    },
    links: [
      { to: 'updateOriginator', parameters: { originatorId: first('originatorId') } },
      { to: 'listContacts', parameters: { originatorId: first('originatorId') } },
    ],
    errors: onQuery,
  },
  {
    method: 'patch',
    path: '/v1/originators/{originatorId}',
    operationId: 'updateOriginator',
    tag: 'Originators',
    summary: 'Update an originator',
    description: 'Payments that exist keep the originator as it was.',
    id: { name: 'originatorId', of: 'originator', example: examples.originatorId },
    body: {
      schema: 'OriginatorPatchRequest',
      required: false,
      examples: { email: { email: 'accounts@example.com' } },
    },
    success: {
      status: 200,
      description: 'The originator after the update.',
      schema: 'Originator',
      examples: { updated: examples.originator },
    },
    errors: [...onBody, 'NOT_FOUND'],
  },
  {
    method: 'post',
    path: '/v1/contacts/',
    operationId: 'createContact',
    tag: 'Contacts',
    summary: 'Create a contact',
    description:
      'Repeating it is safe: a contact that exists already is a 409. Two contacts are the same when originator, entity type, name, e-mail and bank account are.',
    body: {
      schema: 'ContactCreateRequest',
      required: true,
      examples: { individual: examples.contactRequest, business: examples.businessRequest },
    },
    success: {
      status: 201,
      description: 'Created.',
      schema: 'ContactCreated',
      examples: {
        created: { contactId: examples.contactId, createdAt: examples.contact.createdAt },
      },
    },
    links: [
      { to: 'updateContact', parameters: { contactId: answered('contactId') } },
      {
        to: 'createPayment',
        body: {
          originatorId: '$request.body#/originatorId',
          contactId: answered('contactId'),
        },
      },
    ],
    errors: [...onBody, 'NOT_FOUND', 'CONFLICT'],
  },
  {
    method: 'get',
    path: '/v1/contacts/',
    operationId: 'listContacts',
    tag: 'Contacts',
    summary: 'List contacts',
    description: wholeOrPaged,
    query: contactListSchema.shape,
    success: {
      status: 200,
      description: 'The contacts of your organization, or of one originator.',
      schema: 'Contact',
      list: 'ListMeta',
      examples: { contacts: [examples.contact] },
    },
    links: [
      { to: 'updateContact', parameters: { contactId: first('contactId') } },
      {
        to: 'createPayment',
        body: { originatorId: first('originatorId'), contactId: first('contactId') },
      },
      { to: 'listPayments', parameters: { contactId: first('contactId') } },
    ],
    errors: onQuery,
  },
  {
    method: 'patch',
    path: '/v1/contacts/{contactId}',
    operationId: 'updateContact',
    tag: 'Contacts',
    summary: 'Update a contact',
    description:
      'Repeating it has no further effect. `legalAddress` and `bankAccount` are replaced whole.',
    id: onContact,
    body: {
      schema: 'ContactPatchRequest',
      required: false,
      examples: {
        bankAccount: { bankAccount: examples.bankAccountRequest },
        clear: { phoneNumber: null },
      },
    },
    success: {
      status: 200,
      description: 'The contact after the update.',
      schema: 'Contact',
      examples: { updated: examples.contact },
    },
    errors: [...onBody, 'NOT_FOUND', 'CONFLICT'],
  },
];

const payments: readonly Operation[] = [
  {
    method: 'post',
    path: '/v1/payments/',
    operationId: 'createPayment',
    tag: 'Payments',
    summary: 'Create a payment',
    description:
      'The payment starts in QUEUED and is then executed on the rail. The same Idempotency-Key with the same body answers the original 201 again, for ever; with another body it is a 409. Any other answer leaves the key free. Before an INBOUND payment you must hold the contact’s authorization to debit the account.',
    idempotent: true,
    body: {
      schema: 'PaymentCreateRequest',
      required: true,
      examples: {
        outbound: {
          originatorId: examples.originatorId,
          contactId: examples.contactId,
          paymentAmount: 125_000,
          direction: 'OUTBOUND',
          paymentNote: 'Invoice 1042',
          externalPaymentId: 'invoice-1042',
        },
        inbound: {
          originatorId: examples.originatorId,
          contactId: examples.contactId,
          paymentAmount: 4_990,
          direction: 'INBOUND',
        },
      },
    },
    success: {
      status: 201,
      description: 'Created, by this request or by an earlier one with the same key.',
      schema: 'PaymentCreated',
      examples: { created: { paymentId: examples.paymentId } },
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
  },
  {
    method: 'get',
    path: '/v1/payments/{paymentId}',
    operationId: 'getPayment',
    tag: 'Payments',
    summary: 'Get a payment',
    description:
      'Always current. Prefer webhooks to polling; poll every 15 minutes or less often, until a terminal status.',
    id: onPayment,
    success: {
      status: 200,
      description: 'The payment.',
      schema: 'Payment',
      examples: {
        completed: examples.paymentIn('COMPLETED'),
        failed: examples.paymentIn('FAILED'),
        returned: examples.paymentIn('RETURNED'),
        awaitingConfirmation: examples.paymentIn('AWAITING_CONFIRMATION'),
      },
    },
    links: [{ to: 'simulatePayment', parameters: { paymentId: answered('paymentId') } }],
    errors: onRecord,
  },
  {
    method: 'get',
    path: '/v1/payments/',
    operationId: 'listPayments',
    tag: 'Payments',
    summary: 'List payments',
    description: 'Newest first, in pages. Keep the filters the same from page to page.',
    query: paymentListSchema.shape,
    success: {
      status: 200,
      description: 'A page of payments.',
      schema: 'PaymentListItem',
      list: 'PageMeta',
      examples: { page: [examples.completedItem] },
    },
    links: [
      { to: 'getPayment', parameters: { paymentId: first('paymentId') } },
      { to: 'simulatePayment', parameters: { paymentId: first('paymentId') } },
    ],
    errors: onQuery,
  },
  {
    method: 'post',
    path: '/v1/sandbox/payments/{paymentId}/simulate',
    operationId: 'simulatePayment',
    tag: 'Sandbox',
    summary: 'Move a payment along by hand',
    sandboxOnly: true,
    id: onPayment,
    body: {
      schema: 'SimulateRequest',
      required: true,
      examples: {
        complete: { outcome: 'complete' },
        return: { outcome: 'return', returnReasonCode: 'R01' },
      },
    },
    success: {
      status: 200,
      description: 'The payment in its new status.',
      schema: 'Payment',
      examples: { returned: examples.paymentIn('RETURNED') },
    },
    links: [{ to: 'getPayment', parameters: { paymentId: answered('paymentId') } }],
    errors: [...onBody, 'NOT_FOUND', 'CONFLICT'],
  },
];

export const operations: readonly Operation[] = [
  ...parties,
  ...payments,
  ...webhookOperations,
  ...deliveryOperations,
  ...statementOperations,
];
