/**
 * Turns one domain event into the public, masked integration event on the broker. The same event always
 * becomes the same bytes.
 */
import { type IntegrationEventOn, messageHeaders, type Topic } from '@pis/contracts';
import type { RecordedEvent } from '@pis/event-store';
import type { Message } from '@pis/messaging';
import { publicFactsOf, type Step } from './public-facts.js';

export type OutgoingMessage = Message & { readonly offset: string; readonly eventId: string };

export type PublicEvent = {
  [In in Topic]: { readonly topic: In; readonly event: IntegrationEventOn<In> };
}[Topic];

/** Null for a fact that only this service may see. */
export function publicEventOf(recorded: RecordedEvent, step: Step): PublicEvent | null {
  const facts = publicFactsOf(recorded.streamId);
  const content = facts?.contentOf(recorded.type, step) ?? null;
  if (facts === null || content === null) return null;
  const { eventType, organizationId, data } = content;
  const { id: eventId, position, metadata } = recorded;
  const event = { eventId, eventType, organizationId, position, occurredAt: metadata.at, data };
  // Sound: type and data of the event come from the entry of the topic.
  return { topic: facts.topic, event } as PublicEvent;
}

/** 'none' for a fact that only this service may see. */
export function messageOf(recorded: RecordedEvent, step: Step): OutgoingMessage | 'none' {
  const content = publicEventOf(recorded, step);
  if (content === null) return 'none';
  const { topic, event } = content;
  const { traceparent } = recorded.metadata;
  return {
    topic,
    key: recorded.streamId,
    offset: recorded.position,
    eventId: recorded.id,
    value: JSON.stringify(event),
    headers: {
      [messageHeaders.eventType]: event.eventType,
      [messageHeaders.eventId]: event.eventId,
      ...(traceparent === null ? {} : { [messageHeaders.traceparent]: traceparent }),
    },
  };
}
