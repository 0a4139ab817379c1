/** Webhook endpoints and their deliveries. */
import {
  deliveryListSchema,
  type WebhookDeliveryDetailView,
  type WebhookDeliveryView,
  type WebhookEndpointView,
} from '@pis/contracts';
import { op } from '../operation.js';

export const webhookOperations = {
  listWebhooks: op<readonly WebhookEndpointView[]>()({
    method: 'GET',
    path: '/webhooks',
    role: 'viewer',
  }),
  /** The body is that of POST /v1/webhooks. The secret is in this answer and nowhere else. */
  createWebhook: op<WebhookEndpointView & { readonly secret: string }>()({
    method: 'POST',
    path: '/webhooks',
    role: 'admin',
  }),
  /** The body is that of PATCH /v1/webhooks/:id. */
  changeWebhook: op<WebhookEndpointView>()({
    method: 'PATCH',
    path: '/webhooks/:webhookId',
    role: 'admin',
  }),
  deleteWebhook: op<null>()({ method: 'DELETE', path: '/webhooks/:webhookId', role: 'admin' }),
  listDeliveries: op<readonly WebhookDeliveryView[]>()({
    method: 'GET',
    path: '/webhooks/:webhookId/deliveries',
    role: 'viewer',
    query: deliveryListSchema,
  }),
  /** With its attempts and the body that was sent. */
  getDelivery: op<WebhookDeliveryDetailView>()({
    method: 'GET',
    path: '/deliveries/:deliveryId',
    role: 'viewer',
  }),
  redeliver: op<WebhookDeliveryView>()({
    method: 'POST',
    path: '/deliveries/:deliveryId/redeliver',
    role: 'operator',
  }),
} as const;
