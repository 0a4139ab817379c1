/** Webhook endpoints. Each operation is declared once: see operation.ts. */
import * as examples from '../openapi/examples.js';
import { webhookRotateSchema } from '../delivery-requests.js';
import { webhookCreateSchema, webhookPatchSchema, webhookTestSchema } from '../webhook-requests.js';
import * as responses from '../responses.js';
import {
  answered,
  first,
  type Link,
  onAny,
  onBody,
  onRecord,
  operation,
  webhookReaders,
  webhookWriters,
} from './operation.js';

const onWebhook = { name: 'id', of: 'webhook endpoint', example: examples.webhookId } as const;

/** The operations on an endpoint with the ID in an answer. */
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

export const createWebhook = operation({
  method: 'POST',
  path: '/v1/webhooks',
  access: webhookWriters,
  operationId: 'createWebhook',
  tag: 'Webhooks',
  summary: 'Create a webhook endpoint',
  description: 'Store the secret: only this response shows it.',
  body: webhookCreateSchema,
  examples: { allPayments: examples.webhookRequest },
  answers: {
    201: {
      description: 'Created.',
      data: responses.createdWebhookEndpointSchema,
      examples: { created: { ...examples.webhookEndpoint, secret: examples.webhookSecret } },
    },
  },
  links: toWebhook(answered('id')),
  errors: onBody,
});

export const listWebhooks = operation({
  method: 'GET',
  path: '/v1/webhooks',
  access: webhookReaders,
  operationId: 'listWebhooks',
  tag: 'Webhooks',
  summary: 'List webhook endpoints',
  answers: {
    200: {
      description: 'All of them, newest first.',
      data: responses.webhookEndpointSchema,
      list: responses.metaSchema,
      examples: { endpoints: [examples.webhookEndpoint] },
    },
  },
  links: toWebhook(first('id')),
  errors: onAny,
});

export const getWebhook = operation({
  method: 'GET',
  path: '/v1/webhooks/{id}',
  access: webhookReaders,
  operationId: 'getWebhook',
  tag: 'Webhooks',
  summary: 'Get a webhook endpoint',
  ids: [onWebhook],
  answers: {
    200: {
      description: 'The endpoint.',
      data: responses.webhookEndpointSchema,
      examples: { endpoint: examples.webhookEndpoint },
    },
  },
  errors: onRecord,
});

export const updateWebhook = operation({
  method: 'PATCH',
  path: '/v1/webhooks/{id}',
  access: webhookWriters,
  operationId: 'updateWebhook',
  tag: 'Webhooks',
  summary: 'Update a webhook endpoint',
  description: 'Only the given fields change. null clears `label`.',
  ids: [onWebhook],
  body: webhookPatchSchema,
  examples: {
    disable: { enabled: false },
    subscribe: { subscribedEvents: ['payment.completed', 'payment.returned'] },
  },
  answers: {
    200: {
      description: 'The endpoint after the update.',
      data: responses.webhookEndpointSchema,
      examples: { updated: { ...examples.webhookEndpoint, enabled: false } },
    },
  },
  errors: [...onBody, 'NOT_FOUND'],
});

export const deleteWebhook = operation({
  method: 'DELETE',
  path: '/v1/webhooks/{id}',
  access: webhookWriters,
  operationId: 'deleteWebhook',
  tag: 'Webhooks',
  summary: 'Delete a webhook endpoint',
  description:
    'Ends its pending retries. It no longer counts toward the limit for each event type.',
  ids: [onWebhook],
  answers: { 204: { description: 'Deleted.' } },
  errors: onRecord,
});

export const testWebhook = operation({
  method: 'POST',
  path: '/v1/webhooks/{id}/test',
  access: webhookWriters,
  operationId: 'testWebhook',
  tag: 'Webhooks',
  summary: 'Send a test event',
  description:
    'Sends a signed event in the format of a real one. It is sent once, regardless of subscriptions, and not recorded.',
  ids: [onWebhook],
  body: webhookTestSchema,
  examples: { test: {}, returned: { eventType: 'payment.returned' } },
  answers: {
    200: {
      description: 'The result of the delivery.',
      data: responses.webhookTestResultSchema,
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
  },
  errors: [...onBody, 'NOT_FOUND'],
});

export const rotateWebhookSecret = operation({
  method: 'POST',
  path: '/v1/webhooks/{id}/rotate-secret',
  access: webhookWriters,
  operationId: 'rotateWebhookSecret',
  tag: 'Webhooks',
  summary: 'Rotate the secret of a webhook endpoint',
  description:
    'During the overlap, deliveries have the signature of the new secret in `X-Webhook-Signature-256` and that of the old secret in `X-Webhook-Signature-256-Previous`. A second rotation during the overlap drops the oldest secret. Store the secret: only this response shows it.',
  ids: [onWebhook],
  body: webhookRotateSchema,
  examples: { aDay: { overlapHours: 24 }, atOnce: { overlapHours: 0 } },
  answers: {
    200: {
      description: 'The endpoint with its new secret.',
      data: responses.rotatedWebhookEndpointSchema,
      examples: {
        rotated: {
          ...examples.webhookEndpoint,
          secret: examples.webhookSecret,
          previousSecretEndsAt: '2026-03-03T15:10:00.000Z',
        },
      },
    },
  },
  errors: [...onBody, 'NOT_FOUND'],
});
