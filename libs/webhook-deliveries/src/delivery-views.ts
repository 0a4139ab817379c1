/** Deliveries, their attempts and replays as their owner sees them. */
import type { WebhookAttemptView, WebhookDeliveryView, WebhookReplayView } from '@pis/contracts';
import { eventTypes } from '@pis/domain';
import type { AttemptRecord, DeliveryRecord } from './delivery-log.js';
import type { ReplayRecord } from './replay-requests.js';

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

export function replayView(replay: ReplayRecord): WebhookReplayView {
  const [reachedAt = ''] = replay.nextPosition.split('/', 1);
  return {
    replayId: replay.id,
    webhookId: replay.endpointId,
    from: replay.fromAt.toISOString(),
    to: replay.toAt.toISOString(),
    eventTypes: replay.eventTypes ?? eventTypes,
    state: replay.state,
    eventsSent: replay.eventsSent,
    reachedAt: reachedAt === '' ? null : reachedAt,
    requestedAt: replay.requestedAt.toISOString(),
    finishedAt: replay.finishedAt?.toISOString() ?? null,
  };
}
