/** Deliveries and their attempts as their owner sees them. */
import type { WebhookAttemptView, WebhookDeliveryView } from '@pis/contracts';
import type { AttemptRecord, DeliveryRecord } from './delivery-log.js';

export function deliveryView(delivery: DeliveryRecord): WebhookDeliveryView {
  return {
    deliveryId: delivery.id,
    webhookId: delivery.endpointId,
    eventId: delivery.eventId,
    eventType: delivery.eventType,
    paymentId: delivery.paymentId,
    occurredAt: delivery.occurredAt.toISOString(),
    state: delivery.state,
    replayed: delivery.isReplay,
    attemptCount: delivery.attempts,
    createdAt: delivery.createdAt.toISOString(),
    nextAttemptAt: delivery.nextAttemptAt?.toISOString() ?? null,
    finishedAt: delivery.finishedAt?.toISOString() ?? null,
    finishedReason: delivery.finishedReason,
    lastStatusCode: delivery.lastStatus,
    lastError: delivery.lastError,
  };
}

export function attemptView(attempt: AttemptRecord): WebhookAttemptView {
  return {
    attempt: attempt.attempt,
    at: attempt.at.toISOString(),
    statusCode: attempt.status,
    durationMs: attempt.durationMs,
    error: attempt.error,
    responseExcerpt: attempt.responseExcerpt,
  };
}
