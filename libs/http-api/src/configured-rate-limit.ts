/** The rate limits of a process, by its configuration. */
import type { GatewayConfig, OrganizationLimitsConfig } from '@pis/service-kit';
import { OrganizationRateLimit } from './organization-rate-limit.js';
import { RateLimit } from './rate-limit.js';
import { postgresTally } from './rate-limit-tally.js';

type RateConfig = Pick<GatewayConfig, 'PIS_RATE_LIMIT_PER_KEY' | 'PIS_RATE_LIMIT_STORE'>;
type Shared = Parameters<typeof postgresTally>[0];

/** One kind of limit, with PIS_RATE_LIMIT_PER_KEY requests per second for each ID of the kind. */
export function rateLimitOf(
  { PIS_RATE_LIMIT_PER_KEY: perSecond, PIS_RATE_LIMIT_STORE: store }: RateConfig,
  shared: Shared,
): RateLimit {
  return limitWith(store, shared)(perSecond);
}

export function organizationRateLimitOf(
  config: Pick<GatewayConfig, 'PIS_RATE_LIMIT_STORE'> & OrganizationLimitsConfig,
  shared: Omit<Shared, 'kind'>,
): OrganizationRateLimit {
  const limitOf = limitWith(config.PIS_RATE_LIMIT_STORE, { ...shared, kind: 'organization' });
  const common = limitOf(config.PIS_RATE_LIMIT_PER_ORGANIZATION);
  return new OrganizationRateLimit(common, config.PIS_RATE_LIMIT_ORGANIZATIONS, limitOf);
}

/** All limits of a kind share one tally, which bounds their queries. */
function limitWith(store: RateConfig['PIS_RATE_LIMIT_STORE'], shared: Shared) {
  const counted = store === 'memory' ? {} : { tally: postgresTally(shared) };
  return (perSecond: number) => new RateLimit({ perSecond, ...counted });
}
