/** Lists and shows the deliveries of an endpoint, and sends a delivery again. */
import { Controller, Inject } from '@nestjs/common';
import { WebhookEndpointDirectory } from '@pis/commands';
import {
  type DeliveryListQuery,
  getWebhookDelivery,
  listWebhookDeliveries,
  redeliverWebhookDelivery,
  type WebhookDeliveryDetailView,
  type WebhookDeliveryView,
} from '@pis/contracts';
import { streamIdOf, type WebhookEndpoint } from '@pis/domain';
import type { EventStore } from '@pis/event-store';
import {
  type Answer,
  answer,
  ApiError,
  Caller,
  Cursors,
  type Given,
  GivenQuery,
  granted,
  Id,
  notFound,
  Operation,
  Turns,
} from '@pis/http-api';
import { pastWebhookEvents } from '@pis/integration';
import { EVENT_STORE, PG_POOL } from '@pis/service-kit';
import {
  attemptView,
  deliveryBodyOf,
  deliveryIdOf,
  type DeliveryLog,
  deliveryView,
  type PastEvents,
  redeliver,
  type StoredDelivery,
} from '@pis/webhook-deliveries';
import type { RetryWindows } from '@pis/webhooks';
import { DELIVERY_LOG, RETRY_WINDOWS } from './tokens.js';

type PgPool = Parameters<typeof redeliver>[0];

/**
 * Of an organization: a list with a filter that no index serves looks through many deliveries, a delivery may have a
 * thousand attempts, and the other organizations need the connections.
 */
const readTurns = { atOnceMax: 3, sizeMax: 500 } as const;

@Controller()
export class WebhookDeliveriesController {
  private readonly pastEvents: PastEvents;
  private readonly turns = new Turns(readTurns);

  constructor(
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(PG_POOL) private readonly pool: PgPool,
    @Inject(DELIVERY_LOG) private readonly log: DeliveryLog,
    @Inject(RETRY_WINDOWS) private readonly windows: RetryWindows,
    @Inject(Cursors) private readonly cursors: Cursors,
    @Inject(WebhookEndpointDirectory) private readonly endpoints: WebhookEndpointDirectory,
  ) {
    this.pastEvents = (refs) => pastWebhookEvents(store, this.pool, refs);
  }

  @Operation(listWebhookDeliveries)
  async list(
    @Caller() { organizationId }: Caller,
    @Id('id') endpointId: string,
    @GivenQuery() given: Given<DeliveryListQuery>,
  ): Promise<Answer<readonly WebhookDeliveryView[]>> {
    const list = `deliveries/${endpointId}`;
    const { query, after } = this.cursors.page(list, organizationId, given);
    const { limit, cursor: _cursor, paymentId, ...filter } = query;
    granted(await this.endpoints.get(organizationId, endpointId));

    const ids =
      paymentId === undefined ? paymentId : await this.deliveriesOf(paymentId, endpointId);
    const of = { organizationId, endpointId };
    const { items, next } = await this.turns.take(organizationId, () =>
      this.log.list(of, { ...filter, ids }, { limit, after }),
    );
    const nextCursor = next && this.cursors.encode(list, organizationId, next);
    return answer(items.map(deliveryView), { limit, nextCursor });
  }

  @Operation(getWebhookDelivery)
  async get(
    @Caller() { organizationId }: Caller,
    @Id('deliveryId') deliveryId: string,
  ): Promise<Answer<WebhookDeliveryDetailView>> {
    const delivery = await this.delivery(organizationId, deliveryId);
    const [attempts, body] = await this.turns.take(organizationId, () =>
      Promise.all([this.log.attempts(delivery.id), deliveryBodyOf(delivery, this.pastEvents)]),
    );
    if (body === null) throw notFound('payload of the delivery');
    const payload = JSON.parse(body) as unknown;
    return answer({ ...deliveryView(delivery), attempts: attempts.map(attemptView), payload });
  }

  @Operation(redeliverWebhookDelivery)
  async redeliver(
    @Caller() { organizationId }: Caller,
    @Id('deliveryId') deliveryId: string,
  ): Promise<Answer<WebhookDeliveryView>> {
    const delivery = await this.delivery(organizationId, deliveryId);
    const { endpointId } = delivery;
    const endpoints = await this.endpoints.list(organizationId);
    checkReceives(endpoints.find((one) => one.endpointId === endpointId));
    const { pastEvents, windows } = this;
    if (!(await redeliver(this.pool, delivery, { pastEvents, windows, now: new Date() })))
      throw notFound('delivery');
    return answer(deliveryView(await this.delivery(organizationId, deliveryId)));
  }

  /** @throws ApiError NOT_FOUND */
  private async delivery(organizationId: string, deliveryId: string): Promise<StoredDelivery> {
    const delivery = await this.log.get(organizationId, deliveryId);
    if (delivery === null) throw notFound('delivery');
    return delivery;
  }

  /**
   * The IDs of all deliveries that the payment's events can have. Computed, because an index by payment would
   * slow down every delivery.
   */
  private async deliveriesOf(paymentId: string, endpointId: string): Promise<string[]> {
    const events = await this.store.readStream(streamIdOf('payment', paymentId));
    return events.map((event) => deliveryIdOf(event.id, endpointId));
  }
}

/** Checks that the endpoint can receive deliveries. @throws ApiError CONFLICT */
export function checkReceives(endpoint: WebhookEndpoint | undefined): void {
  if (endpoint === undefined) throw new ApiError('CONFLICT', 'the webhook endpoint was deleted');
  if (!endpoint.enabled) throw new ApiError('CONFLICT', 'the webhook endpoint is disabled');
}
