/** Inserts deliveries as a dispatcher would leave them. */
import { randomUUID } from 'node:crypto';
import { PG_POOL } from '@pis/service-kit';
import { deliveryIdOf, type deliveryLog } from '@pis/webhook-deliveries';
import type { Gateway } from './gateway.js';

type PgPool = Parameters<typeof deliveryLog>[0];

export interface TestDelivery {
  readonly id: string;
  readonly eventId: string;
  readonly paymentId: string | null;
  readonly eventType: string;
  readonly occurredAt: string;
  readonly createdAt: string;
  readonly body: string | null;
  readonly attempts: number;
}

const at = '2026-11-21T09:00:00.000Z';

interface Place {
  readonly organizationId: string;
  readonly endpointId: string;
  readonly state: 'pending' | 'delivered' | 'failed' | 'canceled';
}

export async function insertDelivery(
  gateway: Gateway,
  { organizationId, endpointId, state }: Place,
  changes: Partial<TestDelivery> = {},
): Promise<TestDelivery> {
  const eventId = changes.eventId ?? randomUUID();
  const delivery: TestDelivery = {
    id: deliveryIdOf(eventId, endpointId),
    eventId,
    paymentId: randomUUID(),
    eventType: 'payment.queued',
    occurredAt: at,
    createdAt: at,
    body: JSON.stringify({ id: eventId, eventType: 'payment.queued', data: {} }),
    attempts: 1,
    ...changes,
  };
  const { id, paymentId, eventType, occurredAt, createdAt, body, attempts } = delivery;
  const values = [
    ...[id, organizationId, endpointId, eventId, eventType, paymentId, occurredAt, body],
    ...[createdAt, attempts],
  ];
  const columns = `id, organization_id, endpoint_id, event_id, event_type, payment_id, occurred_at, body,
    created_at, attempts, window_ends_at`;
  const described = `$1, $2, $3, $4, $5, $6, $7::timestamptz, $8, $9::timestamptz, $10,
    $9::timestamptz + interval '72 hours'`;
  const pool = poolOf(gateway);
  if (state === 'pending')
    await pool.query(
      `INSERT INTO webhook_deliveries (${columns}, next_attempt_at)
        VALUES (${described}, $9::timestamptz + interval '1 hour')`,
      values,
    );
  else
    await pool.query(
      `INSERT INTO webhook_finished_deliveries (${columns}, state, finished_at, finished_reason)
        VALUES (${described}, $11::text, $9::timestamptz, CASE $11::text WHEN 'failed' THEN 'refused'
          WHEN 'canceled' THEN 'endpoint_deleted' END)`,
      [...values, state],
    );
  return delivery;
}

export async function insertAttempt(
  gateway: Gateway,
  deliveryId: string,
  attempt: number,
  status: number | null,
): Promise<void> {
  await poolOf(gateway).query(
    `INSERT INTO webhook_attempts (delivery_id, attempt, id, at, status, duration_ms, error,
        response_excerpt)
      VALUES ($1, $2, $3, $4::timestamptz + $2::int * interval '1 second', $5, 12, $6, 'said')`,
    [deliveryId, attempt, randomUUID(), at, status, status === null ? 'timeout: none' : null],
  );
}

export function poolOf(gateway: Gateway): PgPool {
  return gateway.app.get<PgPool>(PG_POOL);
}
