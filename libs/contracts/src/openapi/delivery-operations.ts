/** The operations on deliveries, replays and the event feed; a part of operations.ts. */
import { deliveryListSchema, eventListSchema } from '../delivery-requests.js';
import * as examples from './examples.js';
import { answered, first, onBody, onQuery, onRecord, type Operation } from './operation.js';

const onWebhook = { name: 'id', of: 'webhook endpoint', example: examples.webhookId };
const onDelivery = { name: 'deliveryId', of: 'delivery', example: examples.deliveryId };
const onReplay = { name: 'replayId', of: 'replay', example: examples.replayId };

export const deliveryOperations: readonly Operation[] = [
  {
    method: 'get',
    path: '/v1/webhooks/{id}/deliveries',
    operationId: 'listWebhookDeliveries',
    tag: 'Webhooks',
    summary: 'List the deliveries of a webhook endpoint',
    description:
      'Newest first, in pages. Keep the filters the same from page to page. With filters a page may hold fewer than `limit`, even none, although more follow: go on until `nextCursor` is null. Finished ones are kept for 30 days, unless the operator says otherwise. Test deliveries are not recorded.',
    id: onWebhook,
    query: deliveryListSchema.shape,
    success: {
      status: 200,
      description: 'A page of deliveries.',
      schema: 'WebhookDelivery',
      list: 'PageMeta',
      examples: { page: [examples.delivery] },
    },
    links: [
      { to: 'getWebhookDelivery', parameters: { deliveryId: first('deliveryId') } },
      { to: 'redeliverWebhookDelivery', parameters: { deliveryId: first('deliveryId') } },
    ],
    errors: onRecord,
  },
  {
    method: 'get',
    path: '/v1/webhooks/deliveries/{deliveryId}',
    operationId: 'getWebhookDelivery',
    tag: 'Webhooks',
    summary: 'Get a delivery with all its attempts',
    id: onDelivery,
    success: {
      status: 200,
      description: 'The delivery.',
      schema: 'WebhookDeliveryDetail',
      examples: { failed: examples.deliveryDetail },
    },
    links: [{ to: 'redeliverWebhookDelivery', parameters: { deliveryId: answered('deliveryId') } }],
    errors: onRecord,
  },
  {
    method: 'post',
    path: '/v1/webhooks/deliveries/{deliveryId}/redeliver',
    operationId: 'redeliverWebhookDelivery',
    tag: 'Webhooks',
    summary: 'Send a delivery again',
    description:
      'Also one that was delivered. It keeps its id and its envelope, and gets a new window of retries; one that is pending is tried at once. A disabled or deleted endpoint is a 409.',
    id: onDelivery,
    success: {
      status: 200,
      description: 'The delivery, pending.',
      schema: 'WebhookDelivery',
      examples: { pending: examples.pendingDelivery },
    },
    links: [{ to: 'getWebhookDelivery', parameters: { deliveryId: answered('deliveryId') } }],
    errors: [...onRecord, 'CONFLICT'],
  },
  {
    method: 'post',
    path: '/v1/webhooks/{id}/replay',
    operationId: 'replayWebhook',
    tag: 'Webhooks',
    summary: 'Send past events to a webhook endpoint again',
    description:
      'Every event of a time, also those that were delivered, and those from before the endpoint was there. Each keeps the id of its envelope and its delivery id, and carries `X-Webhook-Replay: true`. It goes on beside new events and gives way to them. At most five replays of an endpoint run at a time; a sixth is a 409, as is a disabled endpoint.',
    id: onWebhook,
    body: {
      schema: 'WebhookReplayRequest',
      required: true,
      examples: {
        aDay: { from: '2026-03-01', to: '2026-03-01' },
        failures: { from: '2026-03-01T06:00:00Z', eventTypes: ['payment.failed'] },
      },
    },
    success: {
      status: 202,
      description: 'Begun; its progress can be read.',
      schema: 'WebhookReplay',
      examples: { running: { ...examples.replay, ...examples.replayBegun } },
    },
    links: [
      {
        to: 'getWebhookReplay',
        parameters: { id: answered('webhookId'), replayId: answered('replayId') },
      },
    ],
    errors: [...onBody, 'NOT_FOUND', 'CONFLICT'],
  },
  {
    method: 'get',
    path: '/v1/webhooks/{id}/replays/{replayId}',
    operationId: 'getWebhookReplay',
    tag: 'Webhooks',
    summary: 'Get the progress of a replay',
    id: [onWebhook, onReplay],
    success: {
      status: 200,
      description: 'The replay. It is canceled when its endpoint is deleted.',
      schema: 'WebhookReplay',
      examples: { completed: examples.replay },
    },
    errors: onRecord,
  },
  {
    method: 'get',
    path: '/v1/events',
    operationId: 'listEvents',
    tag: 'Events',
    summary: 'Read events as a feed',
    description:
      'Oldest first and without gaps: the envelopes that endpoints are sent, whatever is subscribed. `nextCursor` is always there, also on an empty page: pass it as `after` to go on, keeping the filters the same, and wait a while when a page is empty.',
    query: eventListSchema.shape,
    success: {
      status: 200,
      description: 'A page of events.',
      schema: 'Event',
      list: 'PageMeta',
      examples: { page: [examples.paymentEvent('QUEUED'), examples.paymentEvent('COMPLETED')] },
    },
    links: [
      { to: 'listEvents', parameters: { after: '$response.body#/meta/pagination/nextCursor' } },
    ],
    errors: onQuery,
  },
];
