/**
 * Integration events: the public, masked facts that travel over the broker. For payments the
 * `data` is exactly the webhook's: the single read at the moment of the transition, plus
 * previousStatus (rule event-data-1).
 */
import type { EventType, Payment, PaymentEventType, PaymentStatus } from '@pis/domain';
import { z } from 'zod';
import type { ContactView, OriginatorView } from './directory-view.js';
import { paymentView, type PaymentView } from './payment-view.js';
import type { Topic, topics } from './topics.js';

export interface PaymentEventData extends PaymentView {
  readonly previousStatus: string | null;
}

/**
 * The payload of the event that brought a payment into its present status. The fields that consumers check
 * come first, as the schema puts them, so that a parsed event is the same text as the published one.
 */
export function paymentEventData(
  payment: Payment,
  previousStatus: PaymentStatus | null,
): PaymentEventData {
  const { paymentId, status, ...rest } = paymentView(payment);
  return { paymentId, status, previousStatus, ...rest };
}

interface IntegrationEvent<Type extends string, Data> {
  /** The id of the domain event; the webhook envelope's id. */
  readonly eventId: string;
  readonly eventType: Type;
  readonly organizationId: string;
  /** Position in the event store, opaque, compares as text. */
  readonly position: string;
  /** Time of the transition, ISO 8601 with milliseconds; the envelope's createdAt. */
  readonly occurredAt: string;
  readonly data: Data;
}

export type PaymentIntegrationEvent = IntegrationEvent<PaymentEventType, PaymentEventData>;

/** What a consumer needs to be sure of; unknown fields are kept (docs/specification.md, "Versioning"). */
export const paymentIntegrationEventSchema = z.looseObject({
  eventId: z.uuid(),
  eventType: z.string().startsWith('payment.'),
  organizationId: z.uuid(),
  position: z.string(),
  occurredAt: z.iso.datetime(),
  data: z.looseObject({
    paymentId: z.uuid(),
    status: z.string(),
    previousStatus: z.string().nullable(),
  }),
}) as unknown as z.ZodType<PaymentIntegrationEvent>;

export type DirectoryEventType =
  | 'originator.created'
  | 'originator.updated'
  | 'contact.created'
  | 'contact.updated';

/** Directory facts: `data` is the originator or contact as the API's list shows it, masked. */
export type DirectoryIntegrationEvent = IntegrationEvent<
  DirectoryEventType,
  OriginatorView | ContactView
>;

/** Rules statement-event-1 to statement-event-4. */
export interface StatementEventData {
  readonly statementId: string;
  readonly originatorId: string;
  readonly periodYear: number;
  readonly periodMonth: number;
}

export type StatementIntegrationEvent = IntegrationEvent<
  Extract<EventType, `statement.${string}`>,
  StatementEventData
>;

/** As paymentIntegrationEventSchema. */
export const statementIntegrationEventSchema = z.looseObject({
  eventId: z.uuid(),
  eventType: z.string().startsWith('statement.'),
  organizationId: z.uuid(),
  position: z.string(),
  occurredAt: z.iso.datetime(),
  data: z.looseObject({
    statementId: z.uuid(),
    originatorId: z.uuid(),
    periodYear: z.int(),
    periodMonth: z.int(),
  }),
}) as unknown as z.ZodType<StatementIntegrationEvent>;

/** Events that become webhooks. */
export type WebhookIntegrationEvent = PaymentIntegrationEvent | StatementIntegrationEvent;

interface EventsByTopic {
  readonly [topics.payments]: PaymentIntegrationEvent;
  readonly [topics.directory]: DirectoryIntegrationEvent;
  readonly [topics.statements]: StatementIntegrationEvent;
}

/** What a topic carries. A new topic does not compile until `EventsByTopic` has it. */
export type IntegrationEventOn<In extends Topic> = EventsByTopic[In];
