/** The types of the dispatcher: an event fanned out, its deliveries, an attempt, and an outcome. */

/** Why a delivery ended without being delivered. */
export type FinishedReason = 'refused' | 'window_ended' | 'endpoint_deleted';

/** One event for one endpoint, not yet finished. */
export interface Delivery {
  /** UUIDv5 of event and endpoint. */
  readonly id: string;
  readonly organizationId: string;
  readonly endpointId: string;
  readonly eventType: string;
  readonly occurredAt: Date;
  /** The envelope, as it is signed and sent at every attempt. Null when it is no longer stored. */
  readonly body: string | null;
  /** Requested by the client as a replay. */
  readonly isReplay: boolean;
  /** Made so far. */
  readonly attempts: number;
  readonly createdAt: Date;
  readonly windowEndsAt: Date;
  /** How many redeliveries the client had requested when it was leased. */
  readonly redeliveryRequests: number;
  /** Trace context of the event. Null when it was not traced. */
  readonly traceparent: string | null;
}

/** An event and the endpoints that receive it. */
export interface FanOut {
  readonly eventId: string;
  readonly organizationId: string;
  readonly eventType: string;
  readonly paymentId: string | null;
  readonly occurredAt: Date;
  readonly body: string;
  /** See bodyHashOf. */
  readonly bodyHash: string;
  readonly traceparent: string | null;
  readonly createdAt: Date;
  readonly windowEndsAt: Date;
  readonly receivers: readonly Receiver[];
}

export interface Receiver {
  readonly deliveryId: string;
  readonly endpointId: string;
}

/** The delivery to one of the receivers, before any attempt. */
export function deliveryOf(fanOut: FanOut, { deliveryId, endpointId }: Receiver): Delivery {
  const { organizationId, eventType, occurredAt, body, createdAt, windowEndsAt, traceparent } =
    fanOut;
  return {
    id: deliveryId,
    organizationId,
    endpointId,
    eventType,
    occurredAt,
    body,
    isReplay: false,
    attempts: 0,
    createdAt,
    windowEndsAt,
    redeliveryRequests: 0,
    traceparent,
  };
}

export interface Attempt {
  readonly id: string;
  readonly at: Date;
  /** Null when no response arrived. */
  readonly status: number | null;
  readonly durationMs: number;
  readonly error: string | null;
  /** The first KiB of the response; null without one. */
  readonly responseExcerpt: string | null;
}

interface Finished {
  readonly finishedAt: Date;
}

/** The outcome for a delivery that this process has leased. */
export type Outcome =
  | (Finished & { readonly kind: 'delivered'; readonly attempt: Attempt })
  | (Finished & { readonly kind: 'refused'; readonly attempt: Attempt })
  /** `attempt` is null when the window ended while the delivery waited. */
  | (Finished & { readonly kind: 'windowEnded'; readonly attempt: Attempt | null })
  | (Finished & { readonly kind: 'endpointDeleted' })
  | { readonly kind: 'retry'; readonly attempt: Attempt; readonly nextAttemptAt: Date }
  /** No attempt was made. The lease is returned, for others or for later. */
  | { readonly kind: 'released'; readonly notBefore: Date | null };

export interface DecidedDelivery {
  readonly delivery: Delivery;
  readonly outcome: Outcome;
}
