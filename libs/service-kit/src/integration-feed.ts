/**
 * The event store as the broker sees it: domain events turned into the public, masked integration
 * events, in log order. The event relay publishes it to Kafka; the embedded transport reads it in
 * place of a broker. Both carry the same bytes.
 *
 * A payment's event carries the payment as it was at that moment, so the stream is folded up to it;
 * states are kept for payments that are on their way, so that a live feed reads no stream twice.
 */
import { topics } from '@pis/contracts';
import { contact, originator, payment } from '@pis/domain';
import {
  type EventStore,
  type Loaded,
  type RecordedEvent,
  repository,
  StoreUnavailable,
} from '@pis/event-store';
import type { MessagePage, MessageSource } from '@pis/messaging';
import { LRUCache } from 'lru-cache';
import { messageOf, type OutgoingMessage, type Step } from './integration-message.js';

const streamPrefixesOf: Readonly<Record<string, readonly string[]>> = {
  [topics.payments]: ['payment-'],
  [topics.directory]: ['originator-', 'contact-'],
};

export interface FeedLimits {
  /** Payments whose state is kept between two of their events. */
  readonly statesMax: number;
  /** Messages kept for the other consumer groups of the same process. */
  readonly messagesMax: number;
  readonly pageMax: number;
}

const feedLimits: FeedLimits = { statesMax: 20_000, messagesMax: 5_000, pageMax: 500 };

export function integrationFeed(store: EventStore, given: Partial<FeedLimits> = {}): MessageSource {
  const limits = { ...feedLimits, ...given };
  const { pageMax } = limits;
  const translator = new Translator(store, limits);
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
  private readonly states: LRUCache<string, Loaded<unknown>>;
  private readonly messages: LRUCache<string, OutgoingMessage | 'none'>;
  private readonly folds: Readonly<Record<string, Fold>>;

  constructor(
    private readonly store: EventStore,
    { statesMax, messagesMax }: FeedLimits,
  ) {
    this.states = new LRUCache({ max: statesMax });
    this.messages = new LRUCache({ max: messagesMax });
    this.folds = {
      payment: foldOf(repository(store, payment)),
      contact: foldOf(repository(store, contact)),
      originator: foldOf(repository(store, originator)),
    };
  }

  /**
   * Other readers use the caches between our awaits, and they forget: what a page needs is looked up
   * before the first await and kept with the page.
   */
  async translate(events: readonly RecordedEvent[]): Promise<OutgoingMessage[]> {
    const known = new Map<string, OutgoingMessage | 'none'>();
    for (const { id } of events) {
      const message = this.messages.get(id);
      if (message !== undefined) known.set(id, message);
    }
    const states = await this.statesBefore(events.filter(({ id }) => !known.has(id)));

    const messages: OutgoingMessage[] = [];
    for (const event of events) {
      // Also for a known one: those behind it in its stream are folded onto it.
      const step = this.advance(states, event);
      const message =
        known.get(event.id) ?? this.messages.get(event.id) ?? (step && messageOf(event, step));
      if (!message) throw new Error(`event ${event.id} is out of the order of its stream`);
      this.messages.set(event.id, message);
      if (message !== 'none') messages.push(message);
    }
    this.keep(states);
    return messages;
  }

  /** The state of each stream just before its first event here; what is not at hand is read in one trip. */
  private async statesBefore(
    events: readonly RecordedEvent[],
  ): Promise<Map<string, Loaded<unknown>>> {
    const states = new Map<string, Loaded<unknown>>();
    const missing: RecordedEvent[] = [];
    for (const event of new Map(events.toReversed().map((e) => [e.streamId, e])).values()) {
      const { streamId, revision } = event;
      const state = revision === 0 ? this.foldOf(streamId)([]) : this.states.get(streamId);
      if (state !== undefined && follows(event, state)) states.set(streamId, state);
      else missing.push(event);
    }
    if (missing.length === 0) return states;
    const streams = await this.store.readStreams(missing.map(({ streamId }) => streamId));
    missing.forEach((event, index) => {
      const { streamId, revision } = event;
      const before = (streams[index] ?? []).filter((earlier) => earlier.revision < revision);
      const state = this.foldOf(streamId)(before);
      // A replica of the store may lag behind the one that the log was read from.
      if (!follows(event, state)) throw new StoreUnavailable(`${streamId} lags behind the log`);
      states.set(streamId, state);
    });
    return states;
  }

  /** Null for an event before the state that is at hand: its message is known. */
  private advance(states: Map<string, Loaded<unknown>>, event: RecordedEvent): Step | null {
    const before = states.get(event.streamId);
    if (before === undefined || !follows(event, before)) return null;
    const after = this.foldOf(event.streamId)([event], before);
    states.set(event.streamId, after);
    return { before, after };
  }

  /** A reader that is behind does not take away what the one ahead goes on from. */
  private keep(states: ReadonlyMap<string, Loaded<unknown>>): void {
    for (const [streamId, state] of states) {
      const kept = this.states.peek(streamId);
      if (kept === undefined || nextRevision(kept) < nextRevision(state))
        this.states.set(streamId, state);
    }
  }

  private foldOf(streamId: string): Fold {
    const fold = this.folds[streamId.slice(0, streamId.indexOf('-'))];
    if (fold === undefined) throw new Error(`no integration events come from stream ${streamId}`);
    return fold;
  }
}

function nextRevision({ revision }: Loaded<unknown>): number {
  return revision === 'noStream' ? 0 : revision + 1;
}

function follows(event: RecordedEvent, state: Loaded<unknown>): boolean {
  return event.revision === nextRevision(state);
}

type Fold = (events: readonly RecordedEvent[], onto?: Loaded<unknown>) => Loaded<unknown>;

/** The states of different aggregates share one cache, keyed by stream: each comes back to its own fold. */
function foldOf<State>(aggregate: {
  fold(events: readonly RecordedEvent[], onto?: Loaded<State>): Loaded<State>;
}): Fold {
  return (events, onto) => aggregate.fold(events, onto as Loaded<State> | undefined);
}
