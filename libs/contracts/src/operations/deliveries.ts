/** Webhook deliveries, replays and the event feed. Each operation is declared once: see operation.ts. */
import * as examples from '../openapi/examples.js';
import { deliveryListSchema, eventListSchema, webhookReplaySchema } from '../delivery-requests.js';
import * as responses from '../responses.js';
import {
  answered,
  first,
  onBody,
  onQuery,
  onRecord,
  operation,
  readers,
  webhookReaders,
  webhookWriters,
} from './operation.js';

const onWebhook = { name: 'id', of: 'webhook endpoint', example: examples.webhookId } as const;
const onDelivery = { name: 'deliveryId', of: 'delivery', example: examples.deliveryId } as const;
const onReplay = { name: 'replayId', of: 'replay', example: examples.replayId } as const;

export const listWebhookDeliveries = operation({
  method: 'GET',
  path: '/v1/webhooks/{id}/deliveries',
  access: webhookReaders,
  operationId: 'listWebhookDeliveries',
  tag: 'Webhooks',
  summary: 'List the deliveries of a webhook endpoint',
  description:
    'Newest first, in pages. Use the same filters for every page. With filters, a page can have fewer than `limit` items, or none, although more follow: continue until `nextCursor` is null. Finished deliveries are kept for 30 days by default. Test deliveries are not recorded.',
  ids: [onWebhook],
  query: deliveryListSchema,
  answers: {
    200: {
      description: 'A page of deliveries.',
      data: responses.webhookDeliverySchema,
      list: responses.pageMetaSchema,
      examples: { page: [examples.delivery] },
    },
  },
  links: [
    { to: 'getWebhookDelivery', parameters: { deliveryId: first('deliveryId') } },
    { to: 'redeliverWebhookDelivery', parameters: { deliveryId: first('deliveryId') } },
  ],
  errors: onRecord,
});

export const getWebhookDelivery = operation({
  method: 'GET',
  path: '/v1/webhooks/deliveries/{deliveryId}',
  access: webhookReaders,
  operationId: 'getWebhookDelivery',
  tag: 'Webhooks',
  summary: 'Get a delivery with all its attempts',
  ids: [onDelivery],
  answers: {
    200: {
      description: 'The delivery.',
      data: responses.webhookDeliveryDetailSchema,
      examples: { failed: examples.deliveryDetail },
    },
  },
  links: [{ to: 'redeliverWebhookDelivery', parameters: { deliveryId: answered('deliveryId') } }],
  errors: onRecord,
});

export const redeliverWebhookDelivery = operation({
  method: 'POST',
  path: '/v1/webhooks/deliveries/{deliveryId}/redeliver',
  access: webhookWriters,
  operationId: 'redeliverWebhookDelivery',
  tag: 'Webhooks',
  summary: 'Send a delivery again',
  description:
    'Works for every delivery, including a successful one. It keeps its ID and its envelope, and gets a new retry window. A pending delivery is tried at once. If the endpoint is disabled or deleted, the answer is 409.',
  ids: [onDelivery],
  answers: {
    200: {
      description: 'The delivery, pending.',
      data: responses.webhookDeliverySchema,
      examples: { pending: examples.pendingDelivery },
    },
  },
  links: [{ to: 'getWebhookDelivery', parameters: { deliveryId: answered('deliveryId') } }],
  errors: [...onRecord, 'CONFLICT'],
});

export const replayWebhook = operation({
  method: 'POST',
  path: '/v1/webhooks/{id}/replay',
  access: webhookWriters,
  operationId: 'replayWebhook',
  tag: 'Webhooks',
  summary: 'Send past events to a webhook endpoint again',
  description:
    'Sends every event of a period, including delivered ones and those from before the endpoint existed. Each keeps the ID of its envelope and its delivery ID, and has `X-Webhook-Replay: true`. New events go first. An endpoint can have five replays at a time. A sixth replay, or a disabled endpoint, is a 409.',
  ids: [onWebhook],
  body: webhookReplaySchema,
  examples: {
    aDay: { from: '2026-03-01', to: '2026-03-01' },
    failures: { from: '2026-03-01T06:00:00Z', eventTypes: ['payment.failed'] },
  },
  answers: {
    202: {
      description: 'The replay has started. Its progress can be read.',
      data: responses.webhookReplaySchema,
      examples: { running: { ...examples.replay, ...examples.replayBegun } },
    },
  },
  links: [
    {
      to: 'getWebhookReplay',
      parameters: { id: answered('webhookId'), replayId: answered('replayId') },
    },
  ],
  errors: [...onBody, 'NOT_FOUND', 'CONFLICT'],
});

export const getWebhookReplay = operation({
  method: 'GET',
  path: '/v1/webhooks/{id}/replays/{replayId}',
  access: webhookReaders,
  operationId: 'getWebhookReplay',
  tag: 'Webhooks',
  summary: 'Get the progress of a replay',
  ids: [onWebhook, onReplay],
  answers: {
    200: {
      description: 'The replay. It is canceled when its endpoint is deleted.',
      data: responses.webhookReplaySchema,
      examples: { completed: examples.replay },
    },
  },
  errors: onRecord,
});

export const listEvents = operation({
  method: 'GET',
  path: '/v1/events',
  access: readers,
  operationId: 'listEvents',
  tag: 'Events',
  summary: 'Read events as a feed',
  description:
    'The envelopes that endpoints receive, oldest first and without gaps, regardless of subscriptions. `nextCursor` is always present, even on an empty page. Pass it as `after` to continue, with the same filters. After an empty page, wait before the next request.',
  query: eventListSchema,
  answers: {
    200: {
      description: 'A page of events.',
      data: responses.eventSchema,
      list: responses.pageMetaSchema,
      examples: { page: [examples.paymentEvent('QUEUED'), examples.paymentEvent('COMPLETED')] },
    },
  },
  links: [
    { to: 'listEvents', parameters: { after: '$response.body#/meta/pagination/nextCursor' } },
  ],
  errors: onQuery,
});
