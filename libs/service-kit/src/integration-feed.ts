/**
 * The event store as the broker sees it: domain events turned into the public, masked integration
 * events, in log order. The event relay publishes it to Kafka; the embedded transport reads it in
 * place of a broker. Both carry the same bytes.
 *
 * A payment's event carries the payment as it was at that moment, so the stream is folded up to it;
 * states are kept for payments that are on their way, so that a live feed reads no stream twice.
 */
import {
  contactView,
  type DirectoryEventType,
  messageHeaders,
  originatorView,
  paymentEventData,
  topics,
} from '@pis/contracts';
import {
  contact,
  type Contact,
  originator,
  type Originator,
  payment,
  paymentEventTypeOf,
  type PaymentState,
} from '@pis/domain';
import { type EventStore, type Loaded, type RecordedEvent, repository } from '@pis/event-store';
import type { Message, MessagePage, MessageSource } from '@pis/messaging';
import { LRUCache } from 'lru-cache';

type OutgoingMessage = Message & { readonly offset: string };

const streamPrefixesOf: Readonly<Record<string, readonly string[]>> = {
  [topics.payments]: ['payment-'],
  [topics.directory]: ['originator-', 'contact-'],
};

/** Payments whose state is kept between two of their events. */
const statesMax = 20_000;
/** Messages kept for the other consumer groups of the same process. */
const messagesMax = 5_000;
const pageMax = 500;

export function integrationFeed(store: EventStore): MessageSource {
  const translator = new Translator(store);
  return {
    async *subscribe({ after, topics: wanted, signal }): AsyncIterable<MessagePage> {
      const streamPrefixes = wanted.flatMap((topic) => streamPrefixesOf[topic] ?? []);
      const pages = store.subscribe({ after, streamPrefixes, pageMax, signal });
      for await (const page of pages)
        yield { messages: await translator.translate(page.events), position: page.position };
    },
  };
}

class Translator {
  private readonly states = new LRUCache<string, Loaded<unknown>>({ max: statesMax });
  private readonly messages = new LRUCache<string, OutgoingMessage | 'none'>({ max: messagesMax });
  private readonly folds: Readonly<Record<string, Fold>>;

  constructor(private readonly store: EventStore) {
    this.folds = {
      payment: foldOf(repository(store, payment)),
      contact: foldOf(repository(store, contact)),
      originator: foldOf(repository(store, originator)),
    };
  }

  async translate(events: readonly RecordedEvent[]): Promise<OutgoingMessage[]> {
    await this.loadMissing(events);
    const messages: OutgoingMessage[] = [];
    for (const event of events) {
      const message = this.messages.get(event.id) ?? this.messageOf(event) ?? 'none';
      this.messages.set(event.id, message);
      if (message !== 'none') messages.push(message);
    }
    return messages;
  }

  /** Reads, in one trip, the streams whose state just before their first event here is not at hand. */
  private async loadMissing(events: readonly RecordedEvent[]): Promise<void> {
    const first = new Map<string, RecordedEvent>();
    for (const event of events)
      if (!this.messages.has(event.id) && !first.has(event.streamId))
        first.set(event.streamId, event);
    const missing = [...first.values()].filter(
      ({ streamId, revision }) =>
        revision > 0 && this.states.get(streamId)?.revision !== revision - 1,
    );
    if (missing.length === 0) return;
    const streams = await this.store.readStreams(missing.map(({ streamId }) => streamId));
    missing.forEach(({ streamId, revision }, index) => {
      const before = (streams[index] ?? []).filter((event) => event.revision < revision);
      this.states.set(streamId, this.foldOf(streamId)(before, undefined));
    });
  }

  private foldOf(streamId: string): Fold {
    const fold = this.folds[streamId.slice(0, streamId.indexOf('-'))];
    if (fold === undefined) throw new Error(`no integration events come from stream ${streamId}`);
    return fold;
  }

  /** Null for facts that are nobody else's business. */
  private messageOf(event: RecordedEvent): OutgoingMessage | null {
    const before = event.revision === 0 ? undefined : this.states.get(event.streamId);
    const after = this.foldOf(event.streamId)([event], before);
    this.states.set(event.streamId, after);
    const content = event.streamId.startsWith('payment-')
      ? paymentContent((before?.state ?? null) as PaymentState, after.state as PaymentState)
      : directoryContent(event, after.state as Contact | Originator | null);
    return content === null ? null : outgoing(event, content);
  }
}

type Fold = (
  events: readonly RecordedEvent[],
  onto: Loaded<unknown> | undefined,
) => Loaded<unknown>;

/** The states of different aggregates share one cache, keyed by stream: each comes back to its own fold. */
function foldOf<State>(aggregate: {
  fold(events: readonly RecordedEvent[], onto?: Loaded<State>): Loaded<State>;
}): Fold {
  return (events, onto) => aggregate.fold(events, onto as Loaded<State> | undefined);
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
