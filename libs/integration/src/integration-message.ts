/**
 * One domain event as the broker carries it: the public, masked integration event. The same event
 * makes the same bytes, whenever and by whomever it is made.
 */
import { type IntegrationEventOn, messageHeaders, type Topic } from '@pis/contracts';
import type { RecordedEvent } from '@pis/event-store';
import type { Message } from '@pis/messaging';
import { publicFactsOf, type Step } from './public-facts.js';

export type OutgoingMessage = Message & { readonly offset: string };

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
  // Sound: the type of the event and its data come from the entry that names the topic.
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
    value: JSON.stringify(event),
    headers: {
      [messageHeaders.eventType]: event.eventType,
      [messageHeaders.eventId]: event.eventId,
      ...(traceparent === null ? {} : { [messageHeaders.traceparent]: traceparent }),
    },
  };
}
