/** The deliveries of an endpoint, one delivery with all that is known of it, and sending it again. */
import type { WebhookEndpointDirectory } from '@pis/commands';
import { streamIdOf, type WebhookEndpoint } from '@pis/domain';
import type { EventStore } from '@pis/event-store';
import { ApiError, type Cursors, granted, notFound, Turns } from '@pis/http-api';
import { pastWebhookEvents } from '@pis/integration';
import type { Keyring } from '@pis/keyring';
import {
  deliveryBodyOf,
  deliveryIdOf,
  type DeliveryLog,
  deliveryView,
  type PastEvents,
  redeliver,
  type StoredDelivery,
} from '@pis/webhook-deliveries';
import { type RetryWindows, stampedBody } from '@pis/webhooks';
import type pg from 'pg';
import { mayCall, operations } from '../operations.js';
import type { RecordedActions } from '../recorded-actions.js';
import { type Handlers, Paged } from '../routes.js';
import { attemptPages } from './attempt-headers.js';

export interface DeliveryServices {
  readonly store: EventStore;
  readonly actions: RecordedActions;
  readonly pool: pg.Pool;
  readonly keyring: Keyring;
  readonly endpoints: WebhookEndpointDirectory;
  readonly deliveries: DeliveryLog;
  readonly cursors: Cursors;
  readonly windows: RetryWindows;
}

/**
 * Of an organization: a list with a filter that no index serves looks through many deliveries, a delivery may have a
 * thousand attempts, and others need the connections.
 */
const readTurns = { atOnceMax: 3, sizeMax: 100 } as const;

/** @throws ApiError CONFLICT for an endpoint that cannot receive deliveries */
export function requireReceiving(endpoint: WebhookEndpoint | undefined): void {
  if (endpoint?.enabled !== true)
    throw new ApiError('CONFLICT', 'the webhook endpoint was deleted or is disabled');
}

export function deliveryHandlers(services: DeliveryServices) {
  const { store, actions, pool, endpoints, deliveries: log, cursors, windows } = services;
  const pastEvents: PastEvents = (refs) => pastWebhookEvents(store, pool, refs);
  const turns = new Turns(readTurns);
  const found = async (organizationId: string, deliveryId: string): Promise<StoredDelivery> => {
    const delivery = await log.get(organizationId, deliveryId);
    if (delivery === null) throw notFound('delivery');
    return delivery;
  };
  const endpointOf = async (organizationId: string, { endpointId }: StoredDelivery) =>
    (await endpoints.list(organizationId)).find((one) => one.endpointId === endpointId);
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
      const { items, next } = await turns.take(organizationId, () =>
        log.list(of, { ...filter, ids }, { limit, after }),
      );
      const nextCursor = next && cursors.encode(list, organizationId, next);
      return new Paged(items.map(deliveryView), { limit, nextCursor });
    },
    getDelivery: ({ organizationId, user, ids: { deliveryId } }) =>
      turns.take(organizationId, async () => {
        const delivery = await found(organizationId, deliveryId);
        const [attempts, body, endpoint] = await Promise.all([
          log.attempts(deliveryId),
          deliveryBodyOf(delivery, pastEvents),
          endpointOf(organizationId, delivery),
        ]);
        const sentAt = attempts.at(-1)?.at.toISOString();
        // Only who may send it again: within its tolerance a receiver accepts a copy of a signed request.
        const isPermitted = mayCall(user.role, operations.redeliver);
        const signer = !isPermitted ? 'not_permitted' : (endpoint ?? 'endpoint_deleted');
        return {
          ...deliveryView(delivery),
          url: endpoint?.url ?? null,
          body:
            body === null || sentAt === undefined
              ? body
              : stampedBody(body, delivery.eventType, sentAt),
          attempts: await attemptPages(services.keyring, { delivery, body, attempts, signer }),
        };
      }),
    async redeliver({ organizationId, user, ids: { deliveryId }, by }) {
      const delivery = await found(organizationId, deliveryId);
      requireReceiving(await endpointOf(organizationId, delivery));
      const subject = { webhookId: delivery.endpointId, deliveryId };
      await actions.run({ name: 'redeliver', user, subject }, by, async () => {
        if (!(await redeliver(pool, delivery, { pastEvents, windows, now: new Date() })))
          throw notFound('delivery');
      });
      return deliveryView(await found(organizationId, deliveryId));
    },
  } satisfies Handlers<'listDeliveries' | 'getDelivery' | 'redeliver'>;
}
