/**
 * Publishes a part of the log again, beside the running relay: into the topics of the relay or into a new one. It leaves out what the relay leaves out:
 * skipped events and held-back streams. It does not change the quarantine.
 */
import { type EventStore, type Position, type RecordedEvent } from '@pis/event-store';
import { type MessagePage, publishPage } from '@pis/messaging/clients';
import { heldRevisions, skippedAmong } from '@pis/read-models';
import type pg from 'pg';
import type { OutgoingMessage } from './integration-message.js';
import { Translator } from './integration-translator.js';
import { relayGroup } from './consumer-groups.js';
import { prefixesOf } from './public-facts.js';

export interface ReplayRange {
  readonly after: Position;
  /** Included. */
  readonly to: Position;
  /** Topics of the relay whose events are published. */
  readonly topics: readonly string[];
  /** Publishes all of them into this topic instead of their own. */
  readonly into?: string;
  /** After each page. Everything up to its position is durable. */
  readonly onPage?: (progress: ReplayProgress) => void;
}

export interface ReplayProgress {
  readonly published: number;
  readonly position: Position;
}

export interface ReplayReport {
  readonly published: number;
  /** Events that an operator skipped. */
  readonly skipped: number;
  /** Streams with an event that cannot be read or that Kafka refuses, and their events from that one on. */
  readonly heldStreams: number;
  readonly heldEvents: number;
}

const pageMax = 500;
const limits = { statesMax: 20_000, messagesMax: pageMax };

/** Publishes in the order of the log. A failure may leave a part published. @throws ProduceError, StoreUnavailable */
export function replayRange(
  sources: { readonly store: EventStore; readonly pool: pg.Pool },
  range: ReplayRange,
  publish: Parameters<typeof publishPage>[0],
): Promise<ReplayReport> {
  return new Replay(sources.store, sources.pool).run(range, publish);
}

class Replay {
  private readonly translator: Translator;
  private readonly skipped = new Set<string>();
  /** The first revision that is left out. */
  private readonly held = new Map<string, number>();
  private readonly counted = { published: 0, skipped: 0, heldEvents: 0 };

  constructor(
    private readonly store: EventStore,
    private readonly pool: pg.Pool,
  ) {
    this.translator = new Translator(store, limits);
  }

  async run(
    { after: start, to, topics, into, onPage }: ReplayRange,
    publish: Parameters<typeof publishPage>[0],
  ): Promise<ReplayReport> {
    const streamPrefixes = prefixesOf(topics);
    for (let after = start; after < to; ) {
      const page = await this.store.readLog({ after, streamPrefixes, pageMax });
      if (page.position === after) break;
      after = page.position;
      const events = page.events.filter(({ position }) => position <= to);
      const translated = await this.translated(events);
      const messages =
        into === undefined
          ? translated
          : translated.map((message) => ({ ...message, topic: into }));
      const taken = await publishPage(publish, this.pageOf(messages, after, events));
      this.counted.published += taken.length;
      this.counted.heldEvents += events.filter((event) => this.isHeld(event)).length;
      this.counted.skipped += events.filter(
        (event) => this.skipped.has(event.id) && !this.isHeld(event),
      ).length;
      onPage?.({ published: this.counted.published, position: after < to ? after : to });
    }
    return { ...this.counted, heldStreams: this.held.size };
  }

  private isHeld({ streamId, revision }: RecordedEvent): boolean {
    return revision >= (this.held.get(streamId) ?? Infinity);
  }

  private async translated(events: readonly RecordedEvent[]): Promise<OutgoingMessage[]> {
    const streamIds = events.map(({ streamId }) => streamId);
    const ofRelay = await heldRevisions(this.pool, relayGroup, streamIds);
    for (const event of events) {
      const from = ofRelay.get(event.streamId) ?? Infinity;
      if (event.revision >= from && !this.isHeld(event)) this.held.set(event.streamId, from);
    }
    for (;;) {
      const due = events.filter((event) => !this.isHeld(event));
      const { messages, unreadable } = await this.translator.translate(due);
      const ids = unreadable.map(({ cause }) => cause.event.id);
      const skips = await skippedAmong(this.pool, ids);
      if (skips.size === 0) {
        for (const { first } of unreadable) this.held.set(first.streamId, first.revision);
        return messages;
      }
      this.translator.skip(skips);
      for (const id of skips) this.skipped.add(id);
    }
  }

  private pageOf(
    messages: readonly OutgoingMessage[],
    position: Position,
    events: readonly RecordedEvent[],
  ): MessagePage {
    return {
      messages,
      position,
      holdBack: async ({ offset, key }) => {
        const event = events.find((one) => one.position === offset && one.streamId === key);
        if (event === undefined) throw new Error(`the page has no message at ${offset}`);
        if ((await skippedAmong(this.pool, [event.id])).has(event.id)) {
          this.skipped.add(event.id);
          return 'skipped';
        }
        this.held.set(event.streamId, event.revision);
        return 'held';
      },
    };
  }
}
