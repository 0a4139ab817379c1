/**
 * One domain event as the broker carries it: the public, masked integration event. The same event
 * makes the same bytes, whenever and by whomever it is made.
 */
import {
  contactView,
  type DirectoryEventType,
  messageHeaders,
  originatorView,
  paymentEventData,
  topics,
} from '@pis/contracts';
import { type Contact, type Originator, paymentEventTypeOf, type PaymentState } from '@pis/domain';
import type { Loaded, RecordedEvent } from '@pis/event-store';
import type { Message } from '@pis/messaging';

export type OutgoingMessage = Message & { readonly offset: string };

/** A stream's state before and after an event. */
export interface Step {
  readonly before: Loaded<unknown>;
  readonly after: Loaded<unknown>;
}

/** 'none' for facts that are nobody else's business. */
export function messageOf(event: RecordedEvent, { before, after }: Step): OutgoingMessage | 'none' {
  const content = event.streamId.startsWith('payment-')
    ? paymentContent(before.state as PaymentState, after.state as PaymentState)
    : directoryContent(event, after.state as Contact | Originator | null);
  return content === null ? 'none' : outgoing(event, content);
}

function outgoing(event: RecordedEvent, content: Content): OutgoingMessage {
  const { topic, eventType, organizationId, data } = content;
  const { traceparent } = event.metadata;
  return {
    topic,
    key: event.streamId,
    offset: event.position,
    value: JSON.stringify({
      eventId: event.id,
      eventType,
      organizationId,
      position: event.position,
      occurredAt: event.metadata.at,
      data,
    }),
    headers: {
      [messageHeaders.eventType]: eventType,
      [messageHeaders.eventId]: event.id,
      ...(traceparent === null ? {} : { [messageHeaders.traceparent]: traceparent }),
    },
  };
}

interface Content {
  readonly topic: string;
  readonly eventType: string;
  readonly organizationId: string;
  readonly data: unknown;
}

function paymentContent(before: PaymentState, after: PaymentState): Content | null {
  if (after === null) return null;
  return {
    topic: topics.payments,
    eventType: paymentEventTypeOf(after.status),
    organizationId: after.organizationId,
    data: paymentEventData(after, before?.status ?? null),
  };
}

const directoryEventTypeOf: Readonly<Record<string, DirectoryEventType>> = {
  OriginatorCreated: 'originator.created',
  OriginatorUpdated: 'originator.updated',
  ContactCreated: 'contact.created',
  ContactUpdated: 'contact.updated',
};

function directoryContent(
  event: RecordedEvent,
  after: Contact | Originator | null,
): Content | null {
  const eventType = directoryEventTypeOf[event.type];
  if (eventType === undefined || after === null) return null;
  return {
    topic: topics.directory,
    eventType,
    organizationId: after.organizationId,
    data: 'contactId' in after ? contactView(after) : originatorView(after),
  };
}
