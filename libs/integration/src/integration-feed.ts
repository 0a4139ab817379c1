/**
 * The feed: turns domain events into public, masked integration events, in log order. The event relay
 * publishes the feed to Kafka. The embedded transport reads it instead of a broker. Both carry the same bytes.
 *
 * A stream with an unreadable event is held back for this reader, and all other streams continue (see
 * quarantine.ts of read-models). The messages of that stream come later, in its order.
 */
import { type ContactEvent, type OriginatorEvent, streamPrefixOf } from '@pis/domain';
import {
  countEvents,
  countPagesMax,
  type EventStore,
  EventsLost,
  type Position,
  type RecordedEvent,
  type SubscribeOptions,
  UnreadableEvent,
} from '@pis/event-store';
import {
  CheckpointMoved,
  type LogPlace,
  type MessagePage,
  type MessageSource,
  waitingSince,
} from '@pis/messaging/clients';
import { kindsReadTo, passedOver, readPlace, type ReadPlace } from '@pis/read-models';
import type pg from 'pg';
import { laterPrefixesOf } from './consumer-groups.js';
import { FeedQuarantine } from './feed-quarantine.js';
import type { OutgoingMessage } from './integration-message.js';
import { prefixesOf } from './public-facts.js';
import { Translator, type TranslatorLimits } from './integration-translator.js';

export interface FeedLimits extends TranslatorLimits {
  readonly pageMax: number;
  /** How often streams in quarantine are retried. */
  readonly releaseEveryMs: number;
}

const feedLimits: FeedLimits = {
  statesMax: 10_000,
  messagesMax: 5_000,
  pageMax: 500,
  releaseEveryMs: 10_000,
};

/** @throws UnreadableEvent during iteration: this feed has no quarantine */
export function integrationFeed(store: EventStore, given: Partial<FeedLimits> = {}): MessageSource {
  const limits = { ...feedLimits, ...given };
  const translator = new Translator(store, limits);
  return {
    async *subscribe({ topics: wanted, ...options }): AsyncIterable<MessagePage> {
      const { pageMax } = limits;
      const wantedPrefixes = prefixesOf(wanted);
      const streamPrefixes = withErasures(wantedPrefixes);
      for await (const page of store.subscribe({ ...options, streamPrefixes, pageMax })) {
        const events = noticeErasures(translator, page.events, wantedPrefixes);
        const { messages, unreadable } = await translator.translate(events);
        const [first] = unreadable;
        if (first !== undefined) throw first.cause;
        yield { messages, position: page.position, eventId: page.eventId };
      }
    },
    countAfter: countIn(store),
  };
}

/** Counts events instead of messages: nearly every event makes a message, and translating costs much more. */
function countIn(store: EventStore): MessageSource['countAfter'] {
  return async ({ after, topics: wanted, max }) => {
    const streamPrefixes = prefixesOf(wanted);
    return countEvents(store, { after, streamPrefixes, max, pagesMax: countPagesMax });
  };
}

export interface FeedsOptions {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  /** Resolves after the first check of the log. The signal aborts when the log lacks events that were read. */
  readonly sameLog?: (reader: string, ending: AbortSignal) => Promise<AbortSignal>;
  /** Called for each stream that is held back. */
  readonly onHeld: (reader: string, cause: UnreadableEvent) => void;
  readonly limits?: Partial<FeedLimits>;
}

/** The feeds of one process. They share translated messages. `reader` is a consumer group. */
export function integrationFeeds(options: FeedsOptions): (reader: string) => MessageSource {
  const limits = { ...feedLimits, ...options.limits };
  const translator = new Translator(options.store, limits);
  const { sameLog, pool } = options;
  const generations = new Map<string, number>();
  /** A running group does not notice that an operator moved its checkpoint. */
  const placeAfter = async (reader: string, after: Position) => {
    const { position, eventId, generation, kindsRead } = await readPlace(pool, reader);
    const isMoved = (generations.get(reader) ?? generation) !== generation;
    if (isMoved && after !== position) throw new CheckpointMoved(reader);
    generations.set(reader, generation);
    // A reader that is past the checkpoint has caught up before. It has not saved that yet.
    const read: ReadPlace | null = after > position ? null : { position: after, kindsRead };
    return { eventId: after === position ? (eventId ?? undefined) : undefined, read };
  };
  return (reader) => ({
    async *subscribe({ topics: wanted, signal: ending, ...subscription }) {
      const logOfReader = (await sameLog?.(reader, ending)) ?? new AbortController().signal;
      logOfReader.throwIfAborted();
      const signal = AbortSignal.any([ending, logOfReader]);
      const { after } = subscription;
      const { eventId, read } = await placeAfter(reader, after);
      const afterEventId = subscription.afterEventId ?? eventId;
      const feed = new ReaderFeed(options, limits, translator, reader);
      const streamPrefixes = prefixesOf(wanted);
      try {
        yield* feed.subscribe({ ...subscription, afterEventId, streamPrefixes, signal }, read);
      } catch (error) {
        if (error instanceof EventsLost) throw new CheckpointMoved(reader, error.message);
        throw error;
      }
      if (!ending.aborted) logOfReader.throwIfAborted();
    },
    countAfter: countIn(options.store),
  });
}

/** One subscription of a reader. */
class ReaderFeed {
  private readonly quarantine: FeedQuarantine;

  constructor(
    private readonly options: FeedsOptions,
    private readonly limits: FeedLimits,
    private readonly translator: Translator,
    private readonly reader: string,
  ) {
    const { pool, onHeld } = options;
    this.quarantine = new FeedQuarantine(pool, reader, (cause) => onHeld(reader, cause));
  }

  /** @param read what the reader has read up to where it begins; null for everything */
  async *subscribe(
    subscription: Omit<SubscribeOptions, 'pageMax'>,
    read: ReadPlace | null,
  ): AsyncGenerator<MessagePage, void, undefined> {
    const { after, signal, streamPrefixes: wanted = [] } = subscription;
    const { quarantine, limits, translator } = this;
    const { store } = this.options;
    const { pageMax } = limits;
    await quarantine.open(after);
    let position = after;
    let { afterEventId } = subscription;
    // Before what is released: of a stream that is held back, all of it comes with the release.
    const later = laterPrefixesOf(this.reader).filter((prefix) => wanted.includes(prefix));
    if (read !== null)
      yield* this.passedOver(read, later, { position, eventId: afterEventId }, signal);
    for (let follows = true; follows && !signal.aborted; ) {
      yield* this.released({ position, eventId: afterEventId });
      // While streams are held back, resubscribe at intervals.
      const isHolding = quarantine.holdsAny;
      const until = isHolding
        ? AbortSignal.any([signal, AbortSignal.timeout(limits.releaseEveryMs)])
        : signal;
      follows = false;
      const streamPrefixes = withErasures(wanted);
      const place = { after: position, afterEventId };
      const from = { ...subscription, ...place, streamPrefixes, pageMax, signal: until };
      const pages = store.subscribe(from);
      for await (const page of pages) {
        const events = noticeErasures(translator, page.events, wanted);
        const messages = await this.pass(events);
        await quarantine.advance(page.position);
        position = page.position;
        afterEventId = page.eventId;
        yield this.page(messages, { position, eventId: afterEventId }, events);
        follows = quarantine.holdsAny && !isHolding;
        if (follows) break;
      }
      follows ||= until.aborted;
    }
  }

  /**
   * What another process has passed over. All of it is delivered at the place where the reader begins. Each page says how far
   * its kinds are read then: after a crash, the pages from the first one on that was not saved are delivered again.
   */
  private async *passedOver(
    read: ReadPlace,
    prefixes: readonly string[],
    place: LogPlace,
    signal: AbortSignal,
  ): AsyncGenerator<MessagePage, void, undefined> {
    const { store } = this.options;
    const { pageMax } = this.limits;
    for await (const { events, readTo, prefixes: kinds } of passedOver(
      store,
      read,
      prefixes,
      pageMax,
    )) {
      if (signal.aborted) return;
      const messages = await this.pass(events);
      yield { ...this.page(messages, place, events), kindsRead: kindsReadTo(readTo, kinds) };
    }
  }

  private page(
    messages: readonly OutgoingMessage[],
    place: LogPlace,
    events: readonly RecordedEvent[],
  ): MessagePage {
    return {
      messages,
      ...place,
      holdBack: async ({ offset, key }, reason) => {
        const event = events.find((one) => one.position === offset && one.streamId === key);
        if (event === undefined) throw new Error(`the page has no message at ${offset}`);
        const first = { first: event, cause: new UnreadableEvent(event, reason) };
        if ((await this.quarantine.skippedAmong([first])).size > 0) return 'skipped';
        await this.quarantine.holdRefused(first);
        return 'held';
      },
    };
  }

  /** The messages of all streams that are not held back. */
  private async pass(events: readonly RecordedEvent[]): Promise<OutgoingMessage[]> {
    return this.translated(await this.quarantine.pass(events));
  }

  private async translated(events: readonly RecordedEvent[]): Promise<OutgoingMessage[]> {
    for (;;) {
      const { messages, unreadable } = await this.translator.translate(events);
      const skips = await this.quarantine.skippedAmong(unreadable);
      if (skips.size === 0) {
        await this.quarantine.hold(unreadable);
        return messages;
      }
      this.translator.skip(skips);
    }
  }

  /** The held-back messages that can be read now, up to the current place in the log. */
  private async *released(place: LogPlace): AsyncGenerator<MessagePage, void, undefined> {
    const { quarantine } = this;
    while (quarantine.holdsAny) {
      const due = await quarantine.due();
      if (due.length === 0) return;
      const streams = await this.options.store.readStreams(due.map(({ streamId }) => streamId));
      const events = due.flatMap(({ fromRevision }, index) =>
        (streams[index] ?? []).filter(
          (event) => event.revision >= fromRevision && event.position <= place.position,
        ),
      );
      quarantine.release(due.map(({ streamId }) => streamId));
      const messages = await this.translated(events);
      // If a stream still cannot be read to its end, deliver nothing of it: it would be repeated each time.
      const heldSince = new Map(due.map((stream) => [stream.streamId, stream.heldSince]));
      const whole = messages
        .filter(({ key }) => quarantine.isReleased(key))
        .map((message) => late(message, heldSince.get(message.key)));
      if (whole.length > 0) yield this.page(whole, place, events);
      if (due.every(({ streamId }) => !quarantine.isReleased(streamId))) return;
    }
  }
}

const erasures = ['ContactErased', 'OriginatorErased'] as const satisfies readonly (
  | ContactEvent['type']
  | OriginatorEvent['type']
)[];
const erasurePrefixes = [streamPrefixOf('contact'), streamPrefixOf('originator')];

/** Every feed follows erasures, whatever its topics are: it may remember what was erased. */
function withErasures(wanted: readonly string[]): readonly string[] {
  return [...new Set([...wanted, ...erasurePrefixes])];
}

/** Has the translator forget who was erased. @returns the events of the wanted streams */
function noticeErasures(
  translator: Translator,
  events: readonly RecordedEvent[],
  wanted: readonly string[],
): readonly RecordedEvent[] {
  for (const { streamId, type } of events)
    if (erasures.some((erasure) => erasure === type))
      translator.erase(streamId.slice(streamId.indexOf('-') + 1));
  return events.filter(({ streamId }) => wanted.some((prefix) => streamId.startsWith(prefix)));
}

function late(message: OutgoingMessage, since: Date | undefined): OutgoingMessage {
  if (since === undefined) return message;
  return { ...message, headers: waitingSince(since, message.headers) };
}
