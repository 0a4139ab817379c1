/**
 * Test deliveries: one request to the endpoint, signed and guarded like a real one, whatever its subscriptions.
 * Nothing is stored and nothing is retried.
 *
 * A test holds a request, a connection and memory until the receiver answers. Therefore the number of tests is
 * limited, for each caller, for each organization, which may have many API keys, and in total.
 */
import { randomUUID } from 'node:crypto';
import { samplePaymentEvent, testEvent, type WebhookTestRequest } from '@pis/contracts';
import type { Refusal, WebhookEndpoint } from '@pis/domain';
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
import { now } from './use-case.js';

export interface WebhookTestResult {
  readonly success: boolean;
  /** Null if no response arrived. */
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly durationMs: number;
}

export type WebhookTestRefusal =
  | Refusal<'TOO_MANY_TESTS_OF_CALLER'>
  | Refusal<'TOO_MANY_TESTS'>
  /** The process stops. */
  | Refusal<'TEST_INTERRUPTED'>;

/** Tests under way. */
const testsPerCallerMax = 10;
const testsPerOrganizationMax = 20;
/** Beyond it an organization has one test at a time: the tests of a few organizations refuse those of no other. */
const testsSharedMax = 60;
const testsMax = 100;
/** Endpoints of many organizations may share a host, and must not wait for each other. */
const connectionsPerOriginMax = testsMax;

/** Who asks for a test. */
export interface WebhookTester {
  readonly organizationId: string;
  /** Of an API key; absent for a user: the tests of all users of an organization are limited together. */
  readonly apiKeyId?: string;
}

export class WebhookTests {
  private readonly client: GuardedClient;
  private readonly stopping = new AbortController();
  /** Tests under way, by caller and by organization. Those without a test have no entry. */
  private readonly underWay = new Map<string, number>();
  private underWayInAll = 0;

  constructor(
    private readonly keyring: Keyring,
    options: Omit<GuardedClientOptions, 'connectionsPerOriginMax'>,
  ) {
    this.client = guardedClient({ ...options, connectionsPerOriginMax });
  }

  async deliver(
    { organizationId, apiKeyId }: WebhookTester,
    endpoint: WebhookEndpoint,
    test: WebhookTestRequest,
  ): Promise<WebhookTestResult | WebhookTestRefusal> {
    const ofCaller = apiKeyId === undefined ? `users/${organizationId}` : `key/${apiKeyId}`;
    const ofOrganization = `organization/${organizationId}`;
    if (
      this.testsOf(ofCaller) >= testsPerCallerMax ||
      this.testsOf(ofOrganization) >= testsPerOrganizationMax
    )
      return { refused: 'TOO_MANY_TESTS_OF_CALLER' };
    const inAllMax = this.testsOf(ofOrganization) === 0 ? testsMax : testsSharedMax;
    if (this.underWayInAll >= inAllMax) return { refused: 'TOO_MANY_TESTS' };
    const counted = [ofCaller, ofOrganization];
    for (const one of counted) this.count(one, 1);
    this.underWayInAll += 1;
    try {
      return await this.send(endpoint, test);
    } finally {
      this.underWayInAll -= 1;
      for (const one of counted) this.count(one, -1);
    }
  }

  private testsOf(one: string): number {
    return this.underWay.get(one) ?? 0;
  }

  private count(one: string, change: 1 | -1): void {
    const left = this.testsOf(one) + change;
    if (left === 0) this.underWay.delete(one);
    else this.underWay.set(one, left);
  }

  private async send(
    endpoint: WebhookEndpoint,
    { eventType }: WebhookTestRequest,
  ): Promise<WebhookTestResult | WebhookTestRefusal> {
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
    if (error?.code === 'aborted') return { refused: 'TEST_INTERRUPTED' };
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

  /** Cuts the tests under way. */
  async close(): Promise<void> {
    this.stopping.abort();
    await this.client.close();
  }
}
