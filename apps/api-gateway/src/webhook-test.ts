/**
 * Test deliveries of `POST /v1/webhooks/:id/test`: one request to the endpoint, signed and guarded like
 * a real one, whatever its subscriptions. Nothing is stored and nothing is retried.
 *
 * A test holds a request, a connection and memory until the receiver answers. Therefore the number of tests is
 * limited, for each API key and in total.
 */
import { randomUUID } from 'node:crypto';
import type { OnModuleDestroy } from '@nestjs/common';
import { samplePaymentEvent, testEvent, type WebhookTestRequest } from '@pis/contracts';
import type { WebhookEndpoint } from '@pis/domain';
import { ApiError, now } from '@pis/http-api';
import { type Keyring, ownerOf } from '@pis/keyring';
import {
  classify,
  deliveryHeaders,
  guardedClient,
  type GuardedClient,
  type GuardedClientOptions,
  overlappingSecret,
  previousSignature,
  syntheticEnvelope,
} from '@pis/webhooks';

export interface WebhookTestResult {
  readonly success: boolean;
  /** Null if no response arrived. */
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly durationMs: number;
}

/** Concurrent tests of one receiver. Further tests wait within their time limit. */
const connectionsPerOriginMax = 4;
/** Limits of tests under way: 429 beyond the limit of a key, 503 beyond the total limit. */
const testsPerKeyMax = 10;
const testsMax = 100;

export class WebhookTests implements OnModuleDestroy {
  private readonly client: GuardedClient;
  private readonly stopping = new AbortController();
  /** Tests under way, by API key. Keys without a test have no entry. */
  private readonly underWay = new Map<string, number>();
  private underWayInAll = 0;

  constructor(
    private readonly keyring: Keyring,
    options: Omit<GuardedClientOptions, 'connectionsPerOriginMax'>,
  ) {
    this.client = guardedClient({ ...options, connectionsPerOriginMax });
  }

  /**
   * @param apiKeyId the key that requests the test
   * @throws ApiError RATE_LIMITED, SERVICE_UNAVAILABLE when too many tests are under way;
   *   SERVICE_UNAVAILABLE when a shutdown interrupts it
   */
  async deliver(
    apiKeyId: string,
    endpoint: WebhookEndpoint,
    test: WebhookTestRequest,
  ): Promise<WebhookTestResult> {
    const ofKey = this.underWay.get(apiKeyId) ?? 0;
    if (ofKey >= testsPerKeyMax)
      throw new ApiError('RATE_LIMITED', `${testsPerKeyMax} tests of this key are under way`);
    if (this.underWayInAll >= testsMax)
      throw new ApiError('SERVICE_UNAVAILABLE', 'too many tests are under way; retry shortly');
    this.underWay.set(apiKeyId, ofKey + 1);
    this.underWayInAll += 1;
    try {
      return await this.send(endpoint, test);
    } finally {
      this.underWayInAll -= 1;
      const left = (this.underWay.get(apiKeyId) ?? 1) - 1;
      if (left === 0) this.underWay.delete(apiKeyId);
      else this.underWay.set(apiKeyId, left);
    }
  }

  private async send(
    endpoint: WebhookEndpoint,
    { eventType }: WebhookTestRequest,
  ): Promise<WebhookTestResult> {
    const { endpointId, url } = endpoint;
    const at = now();
    const event =
      eventType === null
        ? testEvent(endpointId, at, randomUUID)
        : samplePaymentEvent(eventType, at, randomUUID);
    const body = JSON.stringify(syntheticEnvelope(event));
    const delivery = { deliveryId: randomUUID(), eventType: event.eventType, body };
    const headers = await this.headersOf(endpoint, delivery, at);
    const result = await this.client.post(url, headers, body, this.stopping.signal);
    const { status, error, durationMs } = result;
    if (error?.code === 'aborted')
      throw new ApiError('SERVICE_UNAVAILABLE', 'the service is shutting down');
    const success = classify(status) === 'success';
    const refusal = success ? null : `the endpoint answered ${status}`;
    return { success, statusCode: status, error: error?.message ?? refusal, durationMs };
  }

  /** The same secrets as in the dispatcher, also during a rotation. */
  private async headersOf(
    endpoint: WebhookEndpoint,
    delivery: Parameters<typeof deliveryHeaders>[0],
    at: string,
  ): Promise<Record<string, string>> {
    const opened = (sealed: string) =>
      this.keyring.open(sealed, ownerOf.webhookEndpoint(endpoint.endpointId));
    const previous = overlappingSecret(endpoint, new Date(at));
    return {
      ...deliveryHeaders(delivery, await opened(endpoint.sealedSecret), at),
      ...(previous === null ? {} : previousSignature(await opened(previous), at, delivery.body)),
    };
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping.abort();
    await this.client.close();
  }
}
