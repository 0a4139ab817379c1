/** Operations on webhook endpoints. */
import { PisApiError } from './errors.js';
import { iterate, type ListOptions, pageOf } from './pages.js';
import { inPath } from './paths.js';
import type { RequestOptions, Transport } from './transport.js';
import type { Page, PageQuery } from './types.js';
import type {
  CreatedWebhookEndpoint,
  EventQuery,
  RotatedWebhookEndpoint,
  WebhookCreateRequest,
  WebhookDelivery,
  WebhookDeliveryDetail,
  WebhookDeliveryFilter,
  WebhookEndpoint,
  WebhookEvent,
  WebhookPatchRequest,
  WebhookReplay,
  WebhookReplayRequest,
  WebhookTestRequest,
  WebhookTestResult,
} from './webhook-types.js';

/** The service waits 30 s for the endpoint before it answers. */
const testTimeoutMs = 40_000;

export class Webhooks {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * The only answer with the secret. Not repeated when its outcome is unknown, because that could leave a
   * second endpoint with an unknown secret. In that case check list().
   */
  async create(
    request: WebhookCreateRequest,
    options?: RequestOptions,
  ): Promise<CreatedWebhookEndpoint> {
    const call = {
      method: 'POST',
      path: '/v1/webhooks',
      body: request,
      repeatable: false,
    } as const;
    return (await this.#transport.send<CreatedWebhookEndpoint>(call, options)).data;
  }

  /** All of them, newest first. */
  async list(options?: RequestOptions): Promise<readonly WebhookEndpoint[]> {
    const call = { method: 'GET', path: '/v1/webhooks', repeatable: true } as const;
    return (await this.#transport.send<readonly WebhookEndpoint[]>(call, options)).data;
  }

  async get(id: string, options?: RequestOptions): Promise<WebhookEndpoint> {
    const call = { method: 'GET', path: pathOf(id), repeatable: true } as const;
    return (await this.#transport.send<WebhookEndpoint>(call, options)).data;
  }

  async update(
    id: string,
    patch: WebhookPatchRequest,
    options?: RequestOptions,
  ): Promise<WebhookEndpoint> {
    const call = { method: 'PATCH', path: pathOf(id), body: patch, repeatable: true } as const;
    return (await this.#transport.send<WebhookEndpoint>(call, options)).data;
  }

  async delete(id: string, options?: RequestOptions): Promise<void> {
    const call = { method: 'DELETE', path: pathOf(id), repeatable: true } as const;
    try {
      await this.#transport.send<void>(call, options);
    } catch (error) {
      // An attempt whose answer was lost has deleted it.
      if (error instanceof PisApiError && error.status === 404 && error.attempts > 1) return;
      throw error;
    }
  }

  /** Sends a sample to the endpoint, whatever it is subscribed to, and returns the result. */
  async test(
    id: string,
    request: WebhookTestRequest = {},
    options?: RequestOptions,
  ): Promise<WebhookTestResult> {
    const call = {
      method: 'POST',
      path: `${pathOf(id)}/test`,
      body: request,
      repeatable: false,
      timeoutMs: testTimeoutMs,
    } as const;
    return (await this.#transport.send<WebhookTestResult>(call, options)).data;
  }

  /**
   * Gives the endpoint a new secret. For this many hours (0 to 72) deliveries carry both signatures. Not
   * repeated when its outcome is unknown: a second rotation would end the secret that receivers know.
   */
  async rotateSecret(
    id: string,
    request: { readonly overlapHours?: number | undefined } = {},
    options?: RequestOptions,
  ): Promise<RotatedWebhookEndpoint> {
    const path = `${pathOf(id)}/rotate-secret`;
    const call = { method: 'POST', path, body: request, repeatable: false } as const;
    return (await this.#transport.send<RotatedWebhookEndpoint>(call, options)).data;
  }

  /** What the endpoint was sent, newest first, a page at a time. */
  deliveries(
    id: string,
    filter: WebhookDeliveryFilter = {},
    options: ListOptions = {},
  ): AsyncIterable<WebhookDelivery> {
    const fixed = { ...filter };
    return iterate(
      (page, request) => this.deliveriesPage(id, { ...fixed, ...page }, request),
      options,
    );
  }

  deliveriesPage(
    id: string,
    query: WebhookDeliveryFilter & PageQuery = {},
    options?: RequestOptions,
  ): Promise<Page<WebhookDelivery>> {
    return pageOf(this.#transport, `${pathOf(id)}/deliveries`, query, options);
  }

  /** With every attempt and the payload. */
  async delivery(deliveryId: string, options?: RequestOptions): Promise<WebhookDeliveryDetail> {
    const call = { method: 'GET', path: deliveryPathOf(deliveryId), repeatable: true } as const;
    return (await this.#transport.send<WebhookDeliveryDetail>(call, options)).data;
  }

  /** Sends it again, with the same ids. Repeated, it is still one delivery. */
  async redeliver(deliveryId: string, options?: RequestOptions): Promise<WebhookDelivery> {
    const path = `${deliveryPathOf(deliveryId)}/redeliver`;
    const call = { method: 'POST', path, body: {}, repeatable: true } as const;
    return (await this.#transport.send<WebhookDelivery>(call, options)).data;
  }

  /** Sends every matching event of a past time again. Not repeated when its outcome is unknown. */
  async replay(
    id: string,
    request: WebhookReplayRequest,
    options?: RequestOptions,
  ): Promise<WebhookReplay> {
    const path = `${pathOf(id)}/replay`;
    const call = { method: 'POST', path, body: request, repeatable: false } as const;
    return (await this.#transport.send<WebhookReplay>(call, options)).data;
  }

  async getReplay(id: string, replayId: string, options?: RequestOptions): Promise<WebhookReplay> {
    const path = `${pathOf(id)}/replays/${inPath('replayId', replayId)}`;
    const call = { method: 'GET', path, repeatable: true } as const;
    return (await this.#transport.send<WebhookReplay>(call, options)).data;
  }
}

export class Events {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * The envelopes that webhooks carry, oldest first and without a gap. `nextCursor` is there on an
   * empty page too: ask again with it as `after`.
   */
  async page(query: EventQuery = {}, options?: RequestOptions): Promise<Page<WebhookEvent>> {
    const call = {
      method: 'GET',
      path: '/v1/events',
      query: { ...query },
      repeatable: true,
    } as const;
    const { data, nextCursor } = await this.#transport.send<readonly WebhookEvent[]>(call, options);
    return { data, nextCursor };
  }
}

function deliveryPathOf(deliveryId: string): string {
  return `/v1/webhooks/deliveries/${inPath('deliveryId', deliveryId)}`;
}

function pathOf(id: string): string {
  return `/v1/webhooks/${inPath('id', id)}`;
}
