/** One attempt at a delivery: reads the endpoint, sends, and decides the outcome. */
import { randomUUID } from 'node:crypto';
import type { WebhookEndpoint } from '@pis/domain';
import { type Keyring, ownerOf } from '@pis/keyring';
import { isTransient } from '@pis/postgres';
import { markFailed, traced } from '@pis/service-kit';
import {
  attemptInWindow,
  classify,
  deliveryHeaders,
  type DeliveryResult,
  type GuardedClient,
  nextAttemptAt,
  overlappingSecret,
  previousSignature,
  replayHeaders,
  type OutcomeClass,
  retryAfterMs,
  type RetryPolicy,
  stampedBody,
} from '@pis/webhooks';
import type { Attempt, Delivery, Outcome } from '@pis/webhook-deliveries';
import type { AttemptResult } from './traffic.js';

export interface AttemptDeps {
  /** The endpoint as it stands now, or null when it was deleted. */
  readonly endpointOf: (delivery: Delivery) => Promise<WebhookEndpoint | null>;
  readonly keyring: Keyring;
  readonly client: GuardedClient;
  readonly retryPolicy: RetryPolicy;
  /** The retry window. */
  readonly windowMsOf: (eventType: string) => number;
  readonly now: () => Date;
  /** From 0 to 1, for the jitter. */
  readonly random: () => number;
  readonly observeAttempt: (
    outcome: OutcomeClass,
    result: DeliveryResult,
    delivery: Delivery,
  ) => void;
}

/**
 * Makes the attempt unless the endpoint was deleted or is disabled, or the window has ended. Each attempt
 * has a new signature and the same body.
 * @param mayBegin whether the lease still covers the attempt. Reading the endpoint or a key may have taken long
 * @returns the outcome, or 'disabled': no attempt, and none before the endpoint is enabled
 * @throws StoreUnavailable: no attempt was made
 */
export async function attemptDelivery(
  deps: AttemptDeps,
  delivery: Delivery,
  mayBegin: () => boolean,
  signal: AbortSignal,
): Promise<Outcome | 'disabled'> {
  const endpoint = await deps.endpointOf(delivery);
  const at = deps.now();
  if (endpoint === null) return { kind: 'endpointDeleted', finishedAt: at };
  // The window limits retries. A delivery without any attempt still gets its first one.
  const isExpired = at > delivery.windowEndsAt && (delivery.attempts > 0 || !endpoint.enabled);
  if (isExpired) return { kind: 'windowEnded', attempt: null, finishedAt: at };
  if (!endpoint.enabled) return 'disabled';

  const body = bodyOf(delivery, at);
  if (typeof body !== 'string') return outcomeOf(deps, delivery, notMade(at, body), null);
  const headers = await headersOf(deps.keyring, { endpoint, delivery, body, at });
  if (!mayBegin()) return { kind: 'released', notBefore: null };
  if (headers instanceof Error) return outcomeOf(deps, delivery, notMade(at, headers), null);
  const result = await traced(
    'webhook attempt',
    {
      kind: 'client',
      traceparent: delivery.traceparent,
      attributes: {
        'pis.webhook.delivery_id': delivery.id,
        'pis.webhook.attempt': delivery.attempts + 1,
        'pis.event.type': delivery.eventType,
        'http.request.method': 'POST',
      },
    },
    async (span) => {
      const sent = await deps.client.post(endpoint.url, headers, body, signal);
      // The client reports failures as results.
      if (sent.status !== null) span.setAttribute('http.response.status_code', sent.status);
      if (classify(sent.status) !== 'success')
        markFailed(span, sent.error?.code ?? String(sent.status));
      return sent;
    },
  );
  if (result.error?.code === 'aborted') return { kind: 'released', notBefore: null };
  deps.observeAttempt(classify(result.status), result, delivery);
  return outcomeOf(deps, delivery, attemptOf(result, at), result.retryAfter);
}

/** What an attempt says about its endpoint. @param gotStatus whether a response arrived */
export function resultOf(outcome: Outcome | 'disabled'): {
  readonly result: AttemptResult;
  readonly gotStatus: boolean;
} {
  if (outcome === 'disabled' || !('attempt' in outcome) || outcome.attempt === null)
    return { result: 'none', gotStatus: false };
  const isAnswered = outcome.kind === 'delivered' || outcome.kind === 'refused';
  return {
    result: isAnswered ? 'answered' : 'failed',
    gotStatus: outcome.attempt.status !== null,
  };
}

function bodyOf({ body, eventType }: Delivery, at: Date): string | Error {
  if (body === null) return new Error('the body of the delivery is gone');
  return stampedBody(body, eventType, at.toISOString());
}

interface Signed {
  readonly endpoint: WebhookEndpoint;
  readonly delivery: Delivery;
  readonly body: string;
  readonly at: Date;
}

/**
 * Opened secrets are not cached: that would keep them in memory to save some microseconds.
 * @throws StoreUnavailable
 */
async function headersOf(
  keyring: Keyring,
  { endpoint, delivery, body, at }: Signed,
): Promise<Record<string, string> | Error> {
  const { id: deliveryId, eventType, isReplay } = delivery;
  const timestamp = at.toISOString();
  const previous = overlappingSecret(endpoint, at);
  try {
    const opened = (sealed: string) =>
      keyring.open(sealed, ownerOf.webhookEndpoint(endpoint.endpointId));
    const secret = await opened(endpoint.sealedSecret);
    return {
      ...deliveryHeaders({ deliveryId, eventType, body }, secret, timestamp),
      ...(previous === null ? {} : previousSignature(await opened(previous), timestamp, body)),
      ...(isReplay ? replayHeaders : {}),
    };
  } catch (error) {
    if (isTransient(error)) throw error;
    const message = error instanceof Error ? error.message : String(error);
    return new Error(`signing: ${message}`, { cause: error });
  }
}

/** A fault on our side, such as a lost data key. It is retried like a failure of the endpoint. */
function notMade(at: Date, { message: error }: Error): Attempt {
  return { id: randomUUID(), at, status: null, durationMs: 0, error, responseExcerpt: null };
}

function attemptOf(result: DeliveryResult, at: Date): Attempt {
  const { status, durationMs, error, responseBody } = result;
  return {
    id: randomUUID(),
    at,
    status,
    durationMs,
    error: error === null ? null : `${error.code}: ${error.message}`,
    responseExcerpt: responseBody,
  };
}

function outcomeOf(
  deps: AttemptDeps,
  delivery: Delivery,
  attempt: Attempt,
  retryAfter: string | null,
): Outcome {
  const finishedAt = deps.now();
  switch (classify(attempt.status)) {
    case 'success':
      return { kind: 'delivered', attempt, finishedAt };
    case 'permanent':
      return { kind: 'refused', attempt, finishedAt };
    case 'retry': {
      const next = nextAttemptAt(
        {
          attempt: attemptOfSchedule(deps, delivery, finishedAt),
          now: finishedAt,
          windowEndsAt: delivery.windowEndsAt,
          retryAfterMs: retryAfterMs(retryAfter, finishedAt),
          random: deps.random(),
        },
        deps.retryPolicy,
      );
      return next === null
        ? { kind: 'windowEnded', attempt, finishedAt }
        : { kind: 'retry', attempt, nextAttemptAt: next };
    }
  }
}

function attemptOfSchedule(
  { retryPolicy, windowMsOf }: AttemptDeps,
  { attempts, createdAt, eventType, windowEndsAt }: Delivery,
  now: Date,
): number {
  const beganAt = windowEndsAt.getTime() - windowMsOf(eventType);
  // Only a redelivery is older than its window.
  const isInFirstWindow = createdAt.getTime() >= beganAt || now.getTime() < beganAt;
  if (isInFirstWindow) return attempts + 1;
  return attemptInWindow(attempts + 1, now.getTime() - beganAt, retryPolicy);
}
