/** The words of the dispatcher: a delivery, an attempt at it, and what came of it. */

export type DeliveryState = 'pending' | 'delivered' | 'failed' | 'canceled';

/** Why a delivery ended without being delivered. */
export type FinishedReason = 'refused' | 'window_ended' | 'endpoint_deleted';

/** One event for one endpoint, on its way. */
export interface Delivery {
  /** UUIDv5 of event and endpoint. */
  readonly id: string;
  readonly organizationId: string;
  readonly endpointId: string;
  readonly eventType: string;
  readonly occurredAt: Date;
  /** The envelope, as it is signed and sent at every attempt. */
  readonly body: string;
  /** Made so far. */
  readonly attempts: number;
  readonly windowEndsAt: Date;
}

/** A delivery as the fan-out makes it. */
export interface NewDelivery extends Delivery {
  readonly eventId: string;
  readonly paymentId: string | null;
  readonly createdAt: Date;
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

/** What becomes of a delivery that this process has leased. */
export type Outcome =
  | (Finished & { readonly kind: 'delivered'; readonly attempt: Attempt })
  | (Finished & { readonly kind: 'refused'; readonly attempt: Attempt })
  /** `attempt` is null when the window ended while the delivery waited. */
  | (Finished & { readonly kind: 'windowEnded'; readonly attempt: Attempt | null })
  | (Finished & { readonly kind: 'endpointDeleted' })
  | { readonly kind: 'retry'; readonly attempt: Attempt; readonly nextAttemptAt: Date }
  /** No attempt was made; the lease is given up, for others or for later. */
  | { readonly kind: 'released'; readonly notBefore: Date | null };
