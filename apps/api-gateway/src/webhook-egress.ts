/** The addresses that webhooks may reach. Used to check URLs of endpoints and for test deliveries. */
import {
  type OwnHost,
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

export type WebhookEgress = Pick<
  GuardedClientOptions,
  'allowedNetworks' | 'ownHosts' | 'egressProxy' | 'extraCaPem'
>;

/**
 * The files are read at once, and the hosts of the banks are given later.
 * @throws ConfigurationError when the CA file cannot be read
 */
export function webhookEgress(
  config: WebhookEgressConfig,
): (bankHosts: readonly OwnHost[]) => WebhookEgress {
  const egressProxy = config.PIS_WEBHOOK_EGRESS_PROXY;
  const receivers = webhookReceiverCa(config);
  return (bankHosts) => ({
    allowedNetworks: config.PIS_WEBHOOK_ALLOWED_NETWORKS,
    ownHosts: [...ownHosts(config), ...bankHosts],
    ...(egressProxy === undefined ? {} : { egressProxy }),
    ...receivers,
  });
}
