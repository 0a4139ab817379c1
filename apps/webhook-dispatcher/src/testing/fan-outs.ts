import { randomUUID } from 'node:crypto';
import type { FanOut, Outcome } from '@pis/webhook-deliveries';

/** Of its deliveries. */
export const idsOf = ({ receivers }: FanOut) => receivers.map(({ deliveryId }) => deliveryId);

/** A new event with a delivery to the endpoint. */
export function fanOutTo(endpointId: string): FanOut {
  const at = new Date();
  return {
    ...{ eventId: randomUUID(), organizationId: randomUUID(), eventType: 'payment.created' },
    ...{ paymentId: null, occurredAt: at, body: '{}', bodyHash: '', traceparent: null },
    ...{ createdAt: at, windowEndsAt: at, receivers: [{ deliveryId: randomUUID(), endpointId }] },
  };
}

export function delivered(): Outcome {
  const at = new Date();
  const attempt = { at, status: 200, durationMs: 1, error: null, responseExcerpt: '' };
  return { kind: 'delivered', finishedAt: at, attempt: { id: randomUUID(), ...attempt } };
}
