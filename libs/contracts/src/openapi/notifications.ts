/** `webhooks` of the OpenAPI document: what is delivered to an endpoint, one entry an event type. */
import { paymentEventTypeOf, type PaymentStatus, paymentStatuses } from '@pis/domain';
import * as examples from './examples.js';
import { type Json, ref } from './schemas.js';

export function webhookNotifications(): Json {
  return {
    ...Object.fromEntries(
      paymentStatuses.map((status) => [paymentEventTypeOf(status), notifies(status)]),
    ),
    'statement.generated': notification({
      operationId: 'onStatementGenerated',
      summary: firesWhen['statement.generated'],
      schema: ref('StatementEvent'),
      example: examples.statementEvent,
    }),
    TEST: notification({
      operationId: 'onTest',
      summary: firesWhen.TEST,
      schema: ref('TestEvent'),
      example: examples.testEvent,
    }),
  };
}

const firesWhen = {
  AWAITING_CONFIRMATION: 'A dashboard payment waits for the counterparty',
  QUEUED: 'A payment is queued for its rail',
  PROCESSING: 'A payment is submitted to its rail',
  COMPLETED: 'A payment is handed off to the payment network',
  FAILED: 'A payment failed; no funds moved',
  FAILED_IN_FLIGHT: 'A submitted payment was not confirmed in time; it may still settle',
  BLOCKED: 'A payment is stopped by automated review',
  RETURNED: 'The receiving bank returned a payment',
  CANCELED: 'A payment is canceled before submission',
  'statement.generated': 'A monthly statement was generated for an originator',
  TEST: 'The test operation was called without an event type',
} as const satisfies Readonly<Record<PaymentStatus | 'statement.generated' | 'TEST', string>>;

function notifies(status: PaymentStatus): Json {
  const words = status.toLowerCase().split('_');
  return notification({
    operationId: `onPayment${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}`,
    summary: firesWhen[status],
    schema: {
      allOf: [
        ref('PaymentEvent'),
        { properties: { eventType: { const: paymentEventTypeOf(status) } } },
      ],
    },
    example: examples.paymentEvent(status),
  });
}

interface Notification {
  readonly operationId: string;
  readonly summary: string;
  readonly schema: Json;
  readonly example: unknown;
}

function notification({ operationId, summary, schema, example }: Notification): Json {
  return {
    post: {
      operationId,
      tags: ['Notifications'],
      summary,
      // The signature authenticates it, not an API key.
      security: [],
      parameters: deliveryHeaders,
      requestBody: {
        required: true,
        content: { 'application/json': { schema, examples: { delivery: { value: example } } } },
      },
      responses: {
        '2XX': {
          description: 'Received. Answer within 30 seconds, and process the event afterwards.',
        },
        '4XX': {
          description: 'Permanently refused: not retried, except 408, 425 and 429.',
        },
        '5XX': { description: 'Retried.' },
      },
    },
  };
}

/** Rules delivery-header-1 to delivery-header-4. */
const deliveryHeaders = [
  {
    name: 'X-Webhook-Signature-256',
    description:
      'HMAC-SHA256 of the timestamp, a period and the raw body, keyed with the endpoint’s secret. Compare it in constant time.',
    schema: { type: 'string', pattern: '^sha256=[0-9a-f]{64}$' },
  },
  {
    name: 'X-Webhook-Timestamp',
    description:
      'When this attempt was signed. Refuse it if it differs from your clock by more than 5 minutes.',
    schema: { type: 'string', format: 'date-time' },
  },
  { name: 'X-Webhook-Event', description: 'The event type.', schema: { type: 'string' } },
  {
    name: 'X-Webhook-Delivery',
    description: 'Unique per event and endpoint, the same across retries.',
    schema: { type: 'string' },
  },
  {
    name: 'X-Webhook-Signature-256-Previous',
    description:
      'Only during a rotation of the secret: the signature with the previous secret. Accept the request if one of the two matches.',
    required: false,
    schema: { type: 'string', pattern: '^sha256=[0-9a-f]{64}$' },
  },
  {
    name: 'X-Webhook-Replay',
    description: 'Present if a replay sends the event again.',
    required: false,
    schema: { type: 'string', const: 'true' },
  },
].map((parameter) => ({ in: 'header', required: true, ...parameter }));
