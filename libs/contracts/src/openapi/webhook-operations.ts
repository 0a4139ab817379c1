/** The operations on webhook endpoints and statements; a part of operations.ts. */
import { statementListSchema } from '../statement-requests.js';
import * as examples from './examples.js';
import {
  answered,
  first,
  type Link,
  onAny,
  onBody,
  onQuery,
  onRecord,
  type Operation,
} from './operation.js';

const onWebhook = { name: 'id', of: 'webhook endpoint', example: examples.webhookId };
const onStatement = { name: 'statementId', of: 'statement', example: examples.statementId };

/** What can be done with an endpoint whose id an answer has. */
const toWebhook = (id: string): readonly Link[] =>
  [
    'getWebhook',
    'testWebhook',
    'listWebhookDeliveries',
    'replayWebhook',
    'rotateWebhookSecret',
    'updateWebhook',
    'deleteWebhook',
  ].map((to) => ({ to, parameters: { id } }));

export const webhookOperations: readonly Operation[] = [
  {
    method: 'post',
    path: '/v1/webhooks',
    operationId: 'createWebhook',
    tag: 'Webhooks',
    summary: 'Create a webhook endpoint',
    description: 'Keep the secret of the answer: no other answer shows it.',
    body: {
      schema: 'WebhookCreateRequest',
      required: true,
      examples: { allPayments: examples.webhookRequest },
    },
    success: {
      status: 201,
      description: 'Created.',
      schema: 'CreatedWebhookEndpoint',
      examples: { created: { ...examples.webhookEndpoint, secret: examples.webhookSecret } },
    },
    links: toWebhook(answered('id')),
    errors: onBody,
  },
  {
    method: 'get',
    path: '/v1/webhooks',
    operationId: 'listWebhooks',
    tag: 'Webhooks',
    summary: 'List webhook endpoints',
    success: {
      status: 200,
      description: 'All of them, newest first.',
      schema: 'WebhookEndpoint',
      list: 'Meta',
      examples: { endpoints: [examples.webhookEndpoint] },
    },
    links: toWebhook(first('id')),
    errors: onAny,
  },
  {
    method: 'get',
    path: '/v1/webhooks/{id}',
    operationId: 'getWebhook',
    tag: 'Webhooks',
    summary: 'Get a webhook endpoint',
    id: onWebhook,
    success: {
      status: 200,
      description: 'The endpoint.',
      schema: 'WebhookEndpoint',
      examples: { endpoint: examples.webhookEndpoint },
    },
    errors: onRecord,
  },
  {
    method: 'patch',
    path: '/v1/webhooks/{id}',
    operationId: 'updateWebhook',
    tag: 'Webhooks',
    summary: 'Update a webhook endpoint',
    description: 'Only what is given changes. null clears `label`.',
    id: onWebhook,
    body: {
      schema: 'WebhookPatchRequest',
      required: false,
      examples: {
        disable: { enabled: false },
        subscribe: { subscribedEvents: ['payment.completed', 'payment.returned'] },
      },
    },
    success: {
      status: 200,
      description: 'The endpoint after the update.',
      schema: 'WebhookEndpoint',
      examples: { updated: { ...examples.webhookEndpoint, enabled: false } },
    },
    errors: [...onBody, 'NOT_FOUND'],
  },
  {
    method: 'delete',
    path: '/v1/webhooks/{id}',
    operationId: 'deleteWebhook',
    tag: 'Webhooks',
    summary: 'Delete a webhook endpoint',
    description: 'Ends its pending retries, and frees its place under the limit per event type.',
    id: onWebhook,
    success: { status: 204, description: 'Deleted.' },
    errors: onRecord,
  },
  {
    method: 'post',
    path: '/v1/webhooks/{id}/test',
    operationId: 'testWebhook',
    tag: 'Webhooks',
    summary: 'Send a test event',
    description:
      'Signed and shaped like a real one, sent once whatever the subscriptions are, and not recorded.',
    id: onWebhook,
    body: {
      schema: 'WebhookTestRequest',
      required: false,
      examples: { test: {}, returned: { eventType: 'payment.returned' } },
    },
    success: {
      status: 200,
      description: 'What became of the delivery.',
      schema: 'WebhookTestResult',
      examples: {
        delivered: { success: true, statusCode: 204, error: null, durationMs: 87 },
        refused: {
          success: false,
          statusCode: 500,
          error: 'the endpoint answered 500',
          durationMs: 112,
        },
      },
    },
    errors: [...onBody, 'NOT_FOUND'],
  },
  {
    method: 'post',
    path: '/v1/webhooks/{id}/rotate-secret',
    operationId: 'rotateWebhookSecret',
    tag: 'Webhooks',
    summary: 'Rotate the secret of a webhook endpoint',
    description:
      'During the overlap deliveries carry the signature of the new secret in `X-Webhook-Signature-256` and that of the old one in `X-Webhook-Signature-256-Previous`. A second rotation inside it drops the one before the last. Keep the secret of the answer: no other answer shows it.',
    id: onWebhook,
    body: {
      schema: 'WebhookRotateRequest',
      required: false,
      examples: { aDay: { overlapHours: 24 }, atOnce: { overlapHours: 0 } },
    },
    success: {
      status: 200,
      description: 'The endpoint with its new secret.',
      schema: 'RotatedWebhookEndpoint',
      examples: {
        rotated: {
          ...examples.webhookEndpoint,
          secret: examples.webhookSecret,
          previousSecretEndsAt: '2026-03-03T15:10:00.000Z',
        },
      },
    },
    errors: [...onBody, 'NOT_FOUND'],
  },
];

export const statementOperations: readonly Operation[] = [
  {
    method: 'get',
    path: '/v1/statements',
    operationId: 'listStatements',
    tag: 'Statements',
    summary: 'List statements',
    query: statementListSchema.shape,
    success: {
      status: 200,
      description: 'The statements of your organization, of an originator or of a year.',
      schema: 'Statement',
      list: 'Meta',
      examples: { statements: [examples.statement] },
    },
    links: ['getStatement', 'getStatementPdf'].map((to) => ({
      to,
      parameters: { statementId: first('statementId') },
    })),
    errors: onQuery,
  },
  {
    method: 'get',
    path: '/v1/statements/{statementId}',
    operationId: 'getStatement',
    tag: 'Statements',
    summary: 'Get a statement',
    id: onStatement,
    success: {
      status: 200,
      description: 'The statement.',
      schema: 'Statement',
      examples: { statement: examples.statement },
    },
    errors: onRecord,
  },
  {
    method: 'get',
    path: '/v1/statements/{statementId}/pdf',
    operationId: 'getStatementPdf',
    tag: 'Statements',
    summary: 'Get the PDF of a statement',
    id: onStatement,
    success: { status: 200, description: 'The document.', mediaType: 'application/pdf' },
    errors: onRecord,
  },
];
