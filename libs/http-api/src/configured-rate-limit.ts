/** The rate limits of a process, by its configuration. */
import type { GatewayConfig } from '@pis/service-kit';
import { RateLimit } from './rate-limit.js';
import { postgresTally } from './rate-limit-tally.js';

/** One kind of limit, with PIS_RATE_LIMIT_PER_KEY requests per second for each ID of the kind. */
export function rateLimitOf(
  {
    PIS_RATE_LIMIT_PER_KEY: perSecond,
    PIS_RATE_LIMIT_STORE: store,
  }: Pick<GatewayConfig, 'PIS_RATE_LIMIT_PER_KEY' | 'PIS_RATE_LIMIT_STORE'>,
  shared: Parameters<typeof postgresTally>[0],
): RateLimit {
  if (store === 'memory') return new RateLimit({ perSecond });
  return new RateLimit({ perSecond, tally: postgresTally(shared) });
}
