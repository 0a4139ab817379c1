/**
 * The events that any team may read from the broker, as schemas. docs/events/ has them as JSON Schema; a change
 * that would break a reader is refused when they are generated (tools/event-compatibility.mjs).
 */
import { paymentEventTypes } from '@pis/domain';
import { z } from 'zod';
import type {
  DirectoryEventType,
  DirectoryIntegrationEvent,
  PaymentIntegrationEvent,
  StatementIntegrationEvent,
} from '../integration-events.js';
import { conversion, type Json } from '../openapi/schemas.js';
import {
  contactSchema,
  originatorSchema,
  paymentEventDataSchema,
  statementEventDataSchema,
} from '../responses.js';
import { type Topic, topics } from '../topics.js';

export interface PublishedEvent {
  /** As in docs/events/NAME.schema.json. */
  readonly name: string;
  readonly topic: Topic;
  /** The values of its header `event-type`. */
  readonly eventTypes: readonly string[];
  readonly summary: string;
  readonly key: string;
  readonly schema: z.ZodType;
}

const statementTypes = ['statement.generated'] as const;
const directoryTypes = {
  originator: ['originator.created', 'originator.updated'],
  contact: ['contact.created', 'contact.updated'],
} as const satisfies Record<string, readonly DirectoryEventType[]>;

/** Every field of the event has a schema, and no other: a new field does not compile until it has one. */
const event =
  <Event extends { readonly data: unknown }>() =>
  <Type extends z.ZodType, Data extends z.ZodType<Event['data']>>(eventType: Type, data: Data) =>
    z.object({
      eventId: z.uuid().describe('The same whenever the event is published again'),
      eventType,
      organizationId: z.uuid(),
      position: z.string().describe('Its place in the log; compares as text'),
      occurredAt: z.string().meta({ format: 'date-time' }),
      data,
    } satisfies Record<keyof PaymentIntegrationEvent, z.ZodType>);

export const publishedEvents: readonly PublishedEvent[] = [
  {
    name: 'payment-event',
    topic: topics.payments,
    eventTypes: paymentEventTypes,
    summary: 'A payment came into a status. `data` is what the webhook carries.',
    key: 'The stream of the payment: the events of one payment are in order.',
    schema: event<PaymentIntegrationEvent>()(z.enum(paymentEventTypes), paymentEventDataSchema),
  },
  {
    name: 'originator-event',
    topic: topics.directory,
    eventTypes: directoryTypes.originator,
    summary: 'An originator was created or updated. `data` is what the API’s list shows.',
    key: 'The stream of the originator.',
    schema: event<DirectoryIntegrationEvent>()(z.enum(directoryTypes.originator), originatorSchema),
  },
  {
    name: 'contact-event',
    topic: topics.directory,
    eventTypes: directoryTypes.contact,
    summary: 'A contact was created or updated. `data` is what the API’s list shows.',
    key: 'The stream of the contact.',
    schema: event<DirectoryIntegrationEvent>()(z.enum(directoryTypes.contact), contactSchema),
  },
  {
    name: 'statement-event',
    topic: topics.statements,
    eventTypes: statementTypes,
    summary: 'A monthly statement was generated.',
    key: 'The stream of the statement.',
    schema: event<StatementIntegrationEvent>()(z.enum(statementTypes), statementEventDataSchema),
  },
];

/** The JSON Schema of an event, complete in itself. */
export function jsonSchemaOf({ name, summary, schema }: PublishedEvent): Json {
  const { $schema: dialect, ...converted } = z.toJSONSchema(schema, conversion);
  return { $schema: dialect, title: name, description: summary, ...converted };
}
