/** The overview: figures of a period, and what needs attention now. */
import { linkLifetimeMs, returnReasons } from '@pis/domain';
import type { WebhookEndpointDirectory } from '@pis/commands';
import { now } from '@pis/http-api';
import type { FiguresQuery } from '@pis/read-models';
import type { EndpointHealths } from '@pis/webhook-deliveries';
import type { Overview, overviewOperations } from '../operations/overview.js';
import type { Handlers } from '../routes.js';

export interface OverviewServices {
  readonly figures: FiguresQuery;
  readonly endpoints: WebhookEndpointDirectory;
  readonly healths: EndpointHealths;
}

const dayMs = 86_400_000;

export function overviewHandlers(
  services: OverviewServices,
): Handlers<keyof typeof overviewOperations> {
  return {
    async getOverview({ organizationId, query: { days } }) {
      const at = now();
      const period = periodOf(at, Number(days));
      const expiredUntil = new Date(Date.parse(at) - linkLifetimeMs).toISOString();
      const [figures, failingEndpoints] = await Promise.all([
        services.figures.of(organizationId, period, expiredUntil),
        failing(services, organizationId),
      ]);
      const returns = figures.returns.map((one) => ({
        ...one,
        reason: returnReasons[one.returnReasonCode ?? ''] ?? null,
      }));
      return { ...period, ...figures, returns, failingEndpoints };
    },
  };
}

/** The last `days` days, today included. */
function periodOf(at: string, days: number): { readonly from: string; readonly to: string } {
  const first = new Date(Date.parse(at) - (days - 1) * dayMs).toISOString();
  return { from: dayOf(first), to: dayOf(at) };
}

function dayOf(at: string): string {
  return at.slice(0, 'YYYY-MM-DD'.length);
}

async function failing(
  { endpoints, healths }: OverviewServices,
  organizationId: string,
): Promise<Overview['failingEndpoints']> {
  const all = await endpoints.list(organizationId);
  const enabled = all.filter(({ enabled }) => enabled);
  const ids = enabled.map(({ endpointId }) => endpointId);
  const found = await healths.failing(organizationId, ids);
  return enabled.flatMap(({ endpointId, url }) => {
    const health = found.get(endpointId);
    if (health === undefined) return [];
    const failingSince = health.failingSince.toISOString();
    return [{ webhookId: endpointId, url, health: health.health, failingSince }];
  });
}
