/** The envelope of a webhook (rules event-envelope-1 to event-envelope-6). */
import { type EventCategory, eventCategoryOf } from '@pis/domain';

const envelopeVersion = '1';

export interface WebhookEnvelope {
  /** Stable across retries and the same for every endpoint: receivers deduplicate on it. */
  readonly id: string;
  readonly version: typeof envelopeVersion;
  readonly eventType: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** True for deliveries of the test endpoint only. */
  readonly synthetic: boolean;
  readonly data: unknown;
}

/** The fields of an integration event that go into its envelope. */
export interface EnvelopeSource {
  readonly eventId: string;
  readonly eventType: string;
  readonly occurredAt: string;
  readonly data: unknown;
}

/**
 * The envelope of a real event. Its createdAt is the time of the transition; a statement event's is
 * stamped again at each signing (stampedBody).
 */
export function paymentEnvelope(event: EnvelopeSource): WebhookEnvelope {
  return {
    id: event.eventId,
    version: envelopeVersion,
    eventType: event.eventType,
    createdAt: event.occurredAt,
    synthetic: false,
    data: event.data,
  };
}

/** Whether an envelope's createdAt is the time of its signing. */
const isStamped = {
  payment: false,
  statement: true,
} as const satisfies Record<EventCategory, boolean>;

/**
 * The body as it is sent at `at` (ISO 8601). A payment event's never changes; a statement event's
 * createdAt is stamped at each signing, so a retry has a fresh one (rule event-envelope-4).
 */
export function stampedBody(body: string, eventType: string, at: string): string {
  const category = eventCategoryOf(eventType);
  if (category !== null && !isStamped[category]) return body;
  return JSON.stringify({ ...(JSON.parse(body) as WebhookEnvelope), createdAt: at });
}

/** The envelope of a test delivery; `event` refers to sample entities that do not exist. */
export function syntheticEnvelope(event: EnvelopeSource): WebhookEnvelope {
  return { ...paymentEnvelope(event), synthetic: true };
}
