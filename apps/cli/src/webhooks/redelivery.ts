/** `pis webhooks redeliver`: over the database, so that an operator can do it for any organization. */
import { webhookEndpoints } from '@pis/domain';
import { repository } from '@pis/event-store';
import { pastWebhookEvents } from '@pis/integration';
import { loadConfig, webhooksEnv } from '@pis/service-kit/stores';
import { deliveryLog, redeliver } from '@pis/webhook-deliveries';
import { retryWindowsOf } from '@pis/webhooks';
import type { Context } from '../context.js';
import { CommandFailed } from '../output.js';

const { PIS_WEBHOOK_RETRY_WINDOW_PAYMENTS_MS, PIS_WEBHOOK_RETRY_WINDOW_STATEMENTS_MS } =
  webhooksEnv;
const windowsEnv = {
  PIS_WEBHOOK_RETRY_WINDOW_PAYMENTS_MS,
  PIS_WEBHOOK_RETRY_WINDOW_STATEMENTS_MS,
};

/**
 * Makes the delivery due, under its id and in a new window if it had finished. A dispatcher sends it.
 * @throws CommandFailed when there is no such delivery, or its endpoint is gone
 */
export async function redeliverByHand({ store, pool }: Context, deliveryId: string) {
  const config = loadConfig(windowsEnv, process.env);
  const log = deliveryLog(pool);
  const delivery = await log.find(deliveryId);
  const missing = () => new CommandFailed(`there is no delivery ${deliveryId}`);
  if (delivery === null) throw missing();

  const { endpointId, organizationId } = delivery;
  const { state } = await repository(store, webhookEndpoints).load(organizationId);
  const endpoint = state.endpoints.find((one) => one.endpointId === endpointId);
  if (endpoint === undefined) throw new CommandFailed('its webhook endpoint was deleted');
  if (!endpoint.enabled) throw new CommandFailed('its webhook endpoint is disabled');

  const now = new Date();
  const windows = retryWindowsOf(config);
  const pastEvents = (refs: Parameters<typeof pastWebhookEvents>[2]) =>
    pastWebhookEvents(store, pool, refs);
  if (!(await redeliver(pool, delivery, { pastEvents, windows, now }))) throw missing();
  const { eventId, eventType, paymentId, state: previousState } = delivery;
  const about = { deliveryId, webhookId: endpointId, organizationId, eventId };
  return { ...about, eventType, paymentId, previousState, requestedAt: now.toISOString() };
}
