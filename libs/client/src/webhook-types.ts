/** Webhook endpoints, and the events they receive. */
import type { Payment, PaymentStatus } from './types.js';

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

/** Told apart by `eventType`. Types may be added: have a branch for those you do not know. */
export type WebhookEvent = PaymentEvent | StatementEvent | TestEvent;
