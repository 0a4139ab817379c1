/** The addresses that webhooks may reach. Used to check URLs of endpoints and for test deliveries. */
import {
  ownHosts,
  type OwnHostsConfig,
  webhookReceiverCa,
  type WebhooksConfig,
} from '@pis/service-kit';
import type { GuardedClientOptions } from '@pis/webhooks';

export type WebhookEgressConfig = OwnHostsConfig &
  Pick<
    WebhooksConfig,
    'PIS_WEBHOOK_ALLOWED_NETWORKS' | 'PIS_WEBHOOK_CA_FILE' | 'PIS_WEBHOOK_EGRESS_PROXY'
  >;

/** @throws ConfigurationError when the CA file cannot be read */
export function webhookEgress(
  config: WebhookEgressConfig,
): Pick<GuardedClientOptions, 'allowedNetworks' | 'ownHosts' | 'egressProxy' | 'extraCaPem'> {
  const egressProxy = config.PIS_WEBHOOK_EGRESS_PROXY;
  return {
    allowedNetworks: config.PIS_WEBHOOK_ALLOWED_NETWORKS,
    ownHosts: ownHosts(config),
    ...(egressProxy === undefined ? {} : { egressProxy }),
    ...webhookReceiverCa(config),
  };
}
