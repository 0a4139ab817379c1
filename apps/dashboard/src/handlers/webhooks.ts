/** Webhook endpoints and their deliveries. */
import type { WebhookEndpointDirectory } from '@pis/commands';
import { webhookEndpointView, type WebhookEndpointView } from '@pis/contracts';
import { streamIdOf, type WebhookEndpoint } from '@pis/domain';
import type { EventStore } from '@pis/event-store';
import { ApiError, type Cursors, granted, notFound } from '@pis/http-api';
import { pastPaymentEvents } from '@pis/integration';
import {
  attemptView,
  deliveryBodyOf,
  deliveryIdOf,
  type DeliveryLog,
  deliveryView,
  type EndpointHealths,
  type PastEvents,
  redeliver,
} from '@pis/webhook-deliveries';
import type { RetryWindows } from '@pis/webhooks';
import type pg from 'pg';
import type { webhookOperations } from '../operations/webhooks.js';
import { type Handlers, Paged } from '../routes.js';

export interface WebhookServices {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly endpoints: WebhookEndpointDirectory;
  readonly deliveries: DeliveryLog;
  readonly healths: EndpointHealths;
  readonly cursors: Cursors;
  readonly windows: RetryWindows;
}

export function webhookHandlers(
  services: WebhookServices,
): Handlers<keyof typeof webhookOperations> {
  return { ...endpointHandlers(services), ...deliveryHandlers(services) };
}

function endpointHandlers({ endpoints, healths }: WebhookServices) {
  const viewsOf = async (
    organizationId: string,
    shown: readonly WebhookEndpoint[],
  ): Promise<WebhookEndpointView[]> => {
    const ids = shown.map(({ endpointId }) => endpointId);
    const failing = await healths.failing(organizationId, ids);
    return shown.map((endpoint) => {
      const found = failing.get(endpoint.endpointId);
      const failingSince = found?.failingSince.toISOString() ?? null;
      return webhookEndpointView(endpoint, { health: found?.health ?? 'healthy', failingSince });
    });
  };
  return {
    listWebhooks: async ({ organizationId }) =>
      viewsOf(organizationId, (await endpoints.list(organizationId)).toReversed()),
    async createWebhook({ organizationId, body, by }) {
      const { endpoint, secret } = granted(await endpoints.create(organizationId, body, by));
      const healthy = { health: 'healthy', failingSince: null } as const;
      return { ...webhookEndpointView(endpoint, healthy), secret };
    },
    async changeWebhook({ organizationId, ids, body, by }) {
      const changed = await endpoints.update(organizationId, ids.webhookId, body, by);
      const [view] = await viewsOf(organizationId, [granted(changed)]);
      if (view === undefined) throw notFound('webhook endpoint');
      return view;
    },
    async deleteWebhook({ organizationId, ids, by }) {
      granted(await endpoints.delete(organizationId, ids.webhookId, by));
      return null;
    },
  } satisfies Handlers<'listWebhooks' | 'createWebhook' | 'changeWebhook' | 'deleteWebhook'>;
}

function deliveryHandlers(services: WebhookServices) {
  const { store, pool, endpoints, deliveries: log, cursors, windows } = services;
  const pastEvents: PastEvents = (refs) => pastPaymentEvents(store, pool, refs);
  const found = async (organizationId: string, deliveryId: string) => {
    const delivery = await log.get(organizationId, deliveryId);
    if (delivery === null) throw notFound('delivery');
    return delivery;
  };
  return {
    async listDeliveries({ organizationId, ids: { webhookId }, givenQuery }) {
      const list = `deliveries/${webhookId}`;
      const { query, after } = cursors.page(list, organizationId, givenQuery);
      const { limit, cursor: _cursor, paymentId, ...filter } = query;
      granted(await endpoints.get(organizationId, webhookId));
      // Computed, because an index by payment would slow down every delivery.
      const events =
        paymentId === undefined ? null : await store.readStream(streamIdOf('payment', paymentId));
      const ids = events?.map(({ id }) => deliveryIdOf(id, webhookId));
      const of = { organizationId, endpointId: webhookId };
      const { items, next } = await log.list(of, { ...filter, ids }, { limit, after });
      const nextCursor = next && cursors.encode(list, organizationId, next);
      return new Paged(items.map(deliveryView), { limit, nextCursor });
    },
    async getDelivery({ organizationId, ids: { deliveryId } }) {
      const delivery = await found(organizationId, deliveryId);
      const [attempts, body] = await Promise.all([
        log.attempts(deliveryId),
        deliveryBodyOf(delivery, pastEvents),
      ]);
      if (body === null) throw notFound('payload of the delivery');
      const payload = JSON.parse(body) as unknown;
      return { ...deliveryView(delivery), attempts: attempts.map(attemptView), payload };
    },
    async redeliver({ organizationId, ids: { deliveryId } }) {
      const delivery = await found(organizationId, deliveryId);
      const all = await endpoints.list(organizationId);
      const endpoint = all.find(({ endpointId }) => endpointId === delivery.endpointId);
      if (endpoint?.enabled !== true)
        throw new ApiError('CONFLICT', 'the webhook endpoint was deleted or is disabled');
      if (!(await redeliver(pool, delivery, { pastEvents, windows, now: new Date() })))
        throw notFound('delivery');
      return deliveryView(await found(organizationId, deliveryId));
    },
  } satisfies Handlers<'listDeliveries' | 'getDelivery' | 'redeliver'>;
}
