/**
 * From one event to its deliveries. The message is done once they are in the table: what happens
 * after that is the engine's, also when this process dies in between.
 */
import type { PaymentIntegrationEvent } from '@pis/contracts';
import { currentTraceparent } from '@pis/service-kit';
import { deliveryIdOf, type FanOut } from '@pis/webhook-deliveries';
import { paymentEnvelope } from '@pis/webhooks';
import type { EndpointDirectory } from './endpoint-directory.js';

export interface FanOutDeps {
  readonly endpoints: EndpointDirectory;
  /** Resolves once it is stored; one stored before is left as it is. */
  readonly deliver: (fanOut: FanOut) => Promise<void>;
  readonly now: () => Date;
  /** How long attempts go on. */
  readonly windowMs: number;
  /** At that time nobody knew any more whether events of before were made into deliveries. */
  readonly knownSince: (at: Date) => Date;
  readonly onTooOld: (event: PaymentIntegrationEvent) => void;
}

/**
 * An event that came too late to know whether it has deliveries gets none: it comes again after a rewind or
 * with a new broker, and its receivers were told at the time. Clients may ask for a replay. One that was put
 * aside came when it was put aside, however late it is handled.
 * @throws StoreUnavailable, or what `deliver` throws: nothing is lost when the message comes again
 */
export async function fanOut(
  deps: FanOutDeps,
  event: PaymentIntegrationEvent,
  waitingSince: Date | null = null,
): Promise<void> {
  const { organizationId, eventId, eventType, position } = event;
  const receivers = await deps.endpoints.receiversOf(organizationId, eventType, position);
  if (receivers.length === 0) return;
  if (new Date(event.occurredAt) < deps.knownSince(waitingSince ?? deps.now())) {
    deps.onTooOld(event);
    return;
  }
  const createdAt = deps.now();
  await deps.deliver({
    eventId,
    organizationId,
    eventType,
    paymentId: event.data.paymentId,
    occurredAt: new Date(event.occurredAt),
    body: JSON.stringify(paymentEnvelope(event)),
    traceparent: currentTraceparent(),
    createdAt,
    windowEndsAt: new Date(createdAt.getTime() + deps.windowMs),
    receivers: receivers.map(({ endpointId }) => ({
      deliveryId: deliveryIdOf(eventId, endpointId),
      endpointId,
    })),
  });
}
