/** Webhook endpoints, and the events they receive. */
import type { Instant, Payment, PaymentStatus } from './types.js';

export type PaymentEventType = `payment.${Lowercase<PaymentStatus>}`;
export type EventType = PaymentEventType | 'statement.generated';
/** `payment.*` takes in all payment events, future ones too. */
export type Subscription = EventType | 'payment.*';

export interface WebhookEndpoint {
  readonly id: string;
  readonly url: string;
  readonly subscribedEvents: readonly Subscription[];
  readonly label: string | null;
  readonly enabled: boolean;
  /**
   * `healthy`: the last attempt succeeded, or none was made. `degraded`: attempts fail. `failing`: they have
   * failed for a day or longer. Null when it is unknown at the moment.
   */
  readonly health: 'healthy' | 'degraded' | 'failing' | null;
  /** The first failed attempt after the last success; null while there is none. */
  readonly failingSince: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface CreatedWebhookEndpoint extends WebhookEndpoint {
  /** 64 hexadecimal characters, shown this once: what verifyWebhook needs. */
  readonly secret: string;
}

export interface WebhookCreateRequest {
  /** HTTPS, publicly routable, at most 2000 characters. */
  readonly url: string;
  readonly subscribedEvents: readonly Subscription[];
  readonly label?: string | null | undefined;
}

/** Only what is given changes; an empty subscription unsubscribes from everything. */
export interface WebhookPatchRequest {
  readonly url?: string | undefined;
  readonly subscribedEvents?: readonly Subscription[] | undefined;
  readonly label?: string | null | undefined;
  readonly enabled?: boolean | undefined;
}

/** Without an event type a TEST event is sent, with one a synthetic event of that type. */
export interface WebhookTestRequest {
  readonly eventType?: PaymentEventType | undefined;
}

export interface WebhookTestResult {
  readonly success: boolean;
  /** What the endpoint answered; null when the connection failed. */
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly durationMs: number;
}

interface Envelope<Type extends string, Data> {
  /** The same across retries: deduplicate on it. */
  readonly id: string;
  /** Of the envelope's schema, at present `1`. */
  readonly version: string;
  readonly eventType: Type;
  readonly createdAt: string;
  /** True for what the test operation sends: it refers to nothing in your account. */
  readonly synthetic: boolean;
  readonly data: Data;
}

export interface PaymentEventData extends Payment {
  /** Null when the payment was created in this status. */
  readonly previousStatus: PaymentStatus | null;
}

export interface StatementEventData {
  readonly statementId: string;
  readonly originatorId: string;
  readonly periodYear: number;
  readonly periodMonth: number;
}

export type PaymentEvent = Envelope<PaymentEventType, PaymentEventData>;
export type StatementEvent = Envelope<'statement.generated', StatementEventData>;
export type TestEvent = Envelope<'TEST', Readonly<Record<string, unknown>>>;

/** Distinguished by `eventType`. Types may be added: handle unknown ones. */
export type WebhookEvent = PaymentEvent | StatementEvent | TestEvent;

/** What the rotation answers: the only place that shows the new secret. */
export interface RotatedWebhookEndpoint extends CreatedWebhookEndpoint {
  /** Until when deliveries carry the old secret's signature too; null when it ended at once. */
  readonly previousSecretEndsAt: string | null;
}

export type WebhookDeliveryState = 'pending' | 'delivered' | 'failed' | 'canceled';

/** One event for one endpoint. Times are ISO 8601. */
export interface WebhookDelivery {
  readonly deliveryId: string;
  readonly webhookId: string;
  /** The envelope's id. */
  readonly eventId: string;
  readonly eventType: string;
  readonly paymentId: string | null;
  readonly occurredAt: string;
  readonly state: WebhookDeliveryState;
  readonly replayed: boolean;
  readonly attemptCount: number;
  readonly createdAt: string;
  readonly nextAttemptAt: string | null;
  readonly finishedAt: string | null;
  readonly finishedReason: 'refused' | 'window_ended' | 'endpoint_deleted' | null;
  readonly lastStatusCode: number | null;
  readonly lastError: string | null;
}

export interface WebhookAttempt {
  /** 1 for the first. */
  readonly attempt: number;
  readonly at: string;
  /** Null when no response arrived. */
  readonly statusCode: number | null;
  readonly durationMs: number;
  readonly error: string | null;
  readonly responseExcerpt: string | null;
}

export interface WebhookDeliveryDetail extends WebhookDelivery {
  readonly attempts: readonly WebhookAttempt[];
  /** The envelope as it is sent. */
  readonly payload: WebhookEvent;
}

/** `from` and `to` are of the event's time, both inclusive. */
export interface WebhookDeliveryFilter {
  readonly eventType?: string | undefined;
  readonly state?: WebhookDeliveryState | undefined;
  readonly paymentId?: string | undefined;
  readonly from?: Instant | undefined;
  readonly to?: Instant | undefined;
}

export interface WebhookReplayRequest {
  readonly from: string;
  readonly to?: string | undefined;
  /** By default what the endpoint subscribes to. */
  readonly eventTypes?: readonly string[] | undefined;
}

export interface WebhookReplay {
  readonly replayId: string;
  readonly webhookId: string;
  readonly from: string;
  readonly to: string;
  readonly eventTypes: readonly string[];
  readonly state: 'running' | 'completed' | 'canceled';
  readonly eventsSent: number;
  /** When the last event that was sent again had occurred; null before the first. */
  readonly reachedAt: string | null;
  readonly requestedAt: string;
  readonly finishedAt: string | null;
}

export interface EventQuery {
  /** `nextCursor` of the page before; absent: from the beginning, or from `from`. */
  readonly after?: string | undefined;
  /** 1 to 100, default 20. */
  readonly limit?: number | undefined;
  readonly eventType?: string | undefined;
  readonly from?: Instant | undefined;
}
