/**
 * Makes the deliveries of one event. Its message is done once they are in the table. From there the
 * engine of any dispatcher continues, also when this process dies.
 */
import { type WebhookIntegrationEvent, withErased } from '@pis/contracts';
import { currentTraceparent } from '@pis/service-kit';
import { bodyHashOf, deliveryIdOf, type FanOut } from '@pis/webhook-deliveries';
import { paymentEnvelope } from '@pis/webhooks';
import type { ErasedLookup } from './erased-lookup.js';
import type { EndpointDirectory } from './endpoint-directory.js';

export interface FanOutDeps {
  readonly endpoints: EndpointDirectory;
  /** Resolves once the event is stored. An event that was stored before stays as it is. */
  readonly deliver: (fanOut: FanOut) => Promise<void>;
  readonly now: () => Date;
  /** The retry window of an event. */
  readonly windowMsOf: (eventType: string) => number;
  /** At that time it was no longer known whether earlier events had deliveries. */
  readonly knownSince: (at: Date) => Date;
  readonly onTooOld: (event: WebhookIntegrationEvent) => void;
  /** Of these parties, those that were erased since. */
  readonly erasedAmong: ErasedLookup;
}

/**
 * An event is skipped when it arrives so late that its deliveries may have been deleted. Such an event
 * arrives again after a rewind or from a new broker, and its receivers got it at the time. Clients can
 * request a replay. For a deferred event the time when it was deferred counts.
 * @throws StoreUnavailable, or what `deliver` throws. Nothing is lost if the message is handled again
 */
export async function fanOut(
  deps: FanOutDeps,
  event: WebhookIntegrationEvent,
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
  const envelope = paymentEnvelope(await withoutErased(deps, event));
  await deps.deliver({
    eventId,
    organizationId,
    eventType,
    paymentId: paymentIdIn(event),
    occurredAt: new Date(event.occurredAt),
    body: JSON.stringify(envelope),
    bodyHash: bodyHashOf(envelope),
    traceparent: currentTraceparent(),
    createdAt,
    windowEndsAt: new Date(createdAt.getTime() + deps.windowMsOf(eventType)),
    receivers: receivers.map(({ endpointId }) => ({
      deliveryId: deliveryIdOf(eventId, endpointId),
      endpointId,
    })),
  });
}

/** A message may have been published before one of its parties was erased. */
async function withoutErased(
  { erasedAmong }: FanOutDeps,
  event: WebhookIntegrationEvent,
): Promise<WebhookIntegrationEvent> {
  // A statement event names nobody.
  if (!('paymentId' in event.data)) return event;
  const { originator, contact } = event.data;
  const partyIds = [originator, contact].flatMap((party) => party?.id ?? []);
  const erased = await erasedAmong(partyIds);
  return erased.size === 0
    ? event
    : ({
        ...event,
        data: withErased(event.data, (id) => erased.has(id)),
      } as WebhookIntegrationEvent);
}

/** Null for the event of a statement. */
export function paymentIdIn({ data }: WebhookIntegrationEvent): string | null {
  return 'paymentId' in data ? data.paymentId : null;
}
