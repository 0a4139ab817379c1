/** Operations on webhook endpoints. */
import { PisApiError } from './errors.js';
import { inPath } from './paths.js';
import type { RequestOptions, Transport } from './transport.js';
import type {
  CreatedWebhookEndpoint,
  WebhookCreateRequest,
  WebhookEndpoint,
  WebhookPatchRequest,
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
   * The only answer that has the secret. Not repeated when its outcome is unknown, because that could
   * leave a second endpoint whose secret nobody knows: look into list() then.
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

  /** Sends a sample to the endpoint, whatever it is subscribed to, and tells how that went. */
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
}

function pathOf(id: string): string {
  return `/v1/webhooks/${inPath('id', id)}`;
}
