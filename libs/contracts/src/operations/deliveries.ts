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
    'Newest first, in pages. Keep the filters the same from page to page. With filters a page may hold fewer than `limit`, even none, although more follow: go on until `nextCursor` is null. Finished ones are kept for 30 days, unless the operator says otherwise. Test deliveries are not recorded.',
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
    'Also one that was delivered. It keeps its id and its envelope, and gets a new window of retries; one that is pending is tried at once. A disabled or deleted endpoint is a 409.',
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
    'Every event of a time, also those that were delivered, and those from before the endpoint was there. Each keeps the id of its envelope and its delivery id, and carries `X-Webhook-Replay: true`. It goes on beside new events and gives way to them. At most five replays of an endpoint run at a time; a sixth is a 409, as is a disabled endpoint.',
  ids: [onWebhook],
  body: webhookReplaySchema,
  examples: {
    aDay: { from: '2026-03-01', to: '2026-03-01' },
    failures: { from: '2026-03-01T06:00:00Z', eventTypes: ['payment.failed'] },
  },
  answers: {
    202: {
      description: 'Begun; its progress can be read.',
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
    'Oldest first and without gaps: the envelopes that endpoints are sent, whatever is subscribed. `nextCursor` is always there, also on an empty page: pass it as `after` to go on, keeping the filters the same, and wait a while when a page is empty.',
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
