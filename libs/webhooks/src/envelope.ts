/** The envelope of a webhook (spec, "Envelope"). */

export const envelopeVersion = '1';

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

/** What of an integration event goes into its envelope. */
export interface EnvelopeSource {
  readonly eventId: string;
  readonly eventType: string;
  readonly occurredAt: string;
  readonly data: unknown;
}

/**
 * The envelope of a real payment event. Its createdAt is the time of the transition, so that it is
 * fixed across retries; a statement event's would be stamped at each signing.
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

/** The envelope of a test delivery; `event` refers to sample entities that do not exist. */
export function syntheticEnvelope(event: EnvelopeSource): WebhookEnvelope {
  return { ...paymentEnvelope(event), synthetic: true };
}
