/**
 * Webhook endpoints with the health of their deliveries. Endpoints come from the event store, health from the
 * delivery tables. While those tables are unavailable, endpoints can be read and changed, and their health is
 * unknown.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  webhookEndpointView,
  type WebhookEndpointView,
  type WebhookHealthView,
} from '@pis/contracts';
import type { WebhookEndpoint } from '@pis/domain';
import { isTransient } from '@pis/postgres';
import type { Logger } from '@pis/service-kit';
import type { EndpointHealth, EndpointHealths } from '@pis/webhook-deliveries';

const unknown: WebhookHealthView = { health: null, failingSince: null };
/** The health of an endpoint that accepts its deliveries, or had none yet. */
export const healthy: WebhookHealthView = { health: 'healthy', failingSince: null };

/** A hanging database must not delay reads and changes that do not need it. */
const knownWithinDefaultMs = 1_000;

export class WebhookHealth {
  constructor(
    private readonly healths: EndpointHealths,
    private readonly logger: Pick<Logger, 'warn'>,
    private readonly knownWithinMs = knownWithinDefaultMs,
  ) {}

  async viewOf(organizationId: string, endpoint: WebhookEndpoint): Promise<WebhookEndpointView> {
    const healthOf = await this.read(organizationId, [endpoint]);
    return webhookEndpointView(endpoint, healthOf(endpoint));
  }

  async viewsOf(
    organizationId: string,
    endpoints: readonly WebhookEndpoint[],
  ): Promise<readonly WebhookEndpointView[]> {
    const healthOf = await this.read(organizationId, endpoints);
    return endpoints.map((endpoint) => webhookEndpointView(endpoint, healthOf(endpoint)));
  }

  private async read(
    organizationId: string,
    endpoints: readonly WebhookEndpoint[],
  ): Promise<(endpoint: WebhookEndpoint) => WebhookHealthView> {
    const ids = endpoints.map(({ endpointId }) => endpointId);
    const failing = await this.known(this.healths.failing(organizationId, ids));
    return ({ endpointId }) => (failing === null ? unknown : healthView(failing.get(endpointId)));
  }

  /** Null if the answer is late. */
  private async known<Result>(reading: Promise<Result>): Promise<Result | null> {
    const answered = new AbortController();
    const { signal } = answered;
    const late = delay(this.knownWithinMs, null, { signal }).catch(() => null);
    try {
      return await Promise.race([reading.catch((error: unknown) => this.unknown(error)), late]);
    } finally {
      answered.abort();
    }
  }

  private unknown(error: unknown): null {
    if (!isTransient(error)) throw error;
    this.logger.warn({ err: error }, 'the health of webhook endpoints is not known');
    return null;
  }
}

function healthView(found: EndpointHealth | undefined): WebhookHealthView {
  if (found === undefined) return healthy;
  return { health: found.health, failingSince: found.failingSince.toISOString() };
}
