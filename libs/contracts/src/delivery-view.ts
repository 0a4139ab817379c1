/** How webhook deliveries, their attempts and replays are shown to their owner. */
import type { WebhookEndpointView } from './directory-view.js';

export const deliveryStates = ['pending', 'delivered', 'failed', 'canceled'] as const;
export type DeliveryStateView = (typeof deliveryStates)[number];

/** Why a delivery ended undelivered: refused with a permanent 4xx, out of time, or its endpoint deleted. */
export const finishedReasons = ['refused', 'window_ended', 'endpoint_deleted'] as const;

export interface WebhookDeliveryView {
  readonly deliveryId: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly paymentId: string | null;
  /** ISO 8601, as all times here. */
  readonly occurredAt: string;
  readonly state: DeliveryStateView;
  readonly replayed: boolean;
  readonly attemptCount: number;
  readonly createdAt: string;
  readonly nextAttemptAt: string | null;
  readonly finishedAt: string | null;
  readonly finishedReason: (typeof finishedReasons)[number] | null;
  readonly lastStatusCode: number | null;
  readonly lastError: string | null;
}

export interface WebhookAttemptView {
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly at: string;
  readonly statusCode: number | null;
  readonly durationMs: number;
  readonly error: string | null;
  readonly responseExcerpt: string | null;
}

export interface WebhookDeliveryDetailView extends WebhookDeliveryView {
  readonly attempts: readonly WebhookAttemptView[];
  /** The envelope. */
  readonly payload: unknown;
}

export const replayStates = ['running', 'completed', 'canceled'] as const;

export interface WebhookReplayView {
  readonly replayId: string;
  readonly webhookId: string;
  readonly from: string;
  readonly to: string;
  readonly eventTypes: readonly string[];
  readonly state: (typeof replayStates)[number];
  readonly eventsSent: number;
  /** When the last event that was sent again had occurred; null before the first. */
  readonly reachedAt: string | null;
  readonly requestedAt: string;
  readonly finishedAt: string | null;
}

/** The only answer that shows the new secret. */
export interface RotatedWebhookEndpointView extends WebhookEndpointView {
  readonly secret: string;
  /** Until when deliveries carry the old one's signature too; null when it ended at once. */
  readonly previousSecretEndsAt: string | null;
}
