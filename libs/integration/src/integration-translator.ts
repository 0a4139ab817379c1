/**
 * Turns domain events into integration events. The event of a payment contains the payment at that moment, so
 * its stream is folded up to the event. States of payments under way are cached, so that a live feed reads no
 * stream twice.
 */
import { withErased } from '@pis/contracts';
import { finalStatuses } from '@pis/domain';
import {
  type EventStore,
  type Loaded,
  type RecordedEvent,
  StoreUnavailable,
  streamPageMax,
  UnreadableEvent,
} from '@pis/event-store';
import type { UnreadableStream } from '@pis/read-models';
import { LRUCache } from 'lru-cache';
import { messageOf, type OutgoingMessage } from './integration-message.js';
import { type Fold, publicFactsOf, type Step } from './public-facts.js';

export interface TranslatorLimits {
  /** Payments with a cached state between two events. */
  readonly statesMax: number;
  /** Messages cached for the other consumer groups of the process. */
  readonly messagesMax: number;
}

export interface Translation {
  readonly messages: OutgoingMessage[];
  /** Streams with an unreadable event. The messages contain none of their events from `first` on. */
  readonly unreadable: readonly UnreadableStream[];
}

/** Concurrent reads of streams. */
const readsInFlightMax = 64;
/** Erased parties that are remembered. What was read before an erasure is gone from memory long before. */
const erasedMax = 10_000;

type Failures = Map<string, UnreadableStream>;

export class Translator {
  private readonly states: LRUCache<string, Loaded<unknown>>;
  private readonly messages: LRUCache<string, OutgoingMessage | 'none'>;
  private readonly skipped = new Set<string>();
  private readonly erased = new LRUCache<string, true>({ max: erasedMax });

  constructor(
    private readonly store: EventStore,
    { statesMax, messagesMax }: TranslatorLimits,
  ) {
    this.states = new LRUCache({ max: statesMax });
    this.messages = new LRUCache({ max: messagesMax });
  }

  /** Skips these events from now on: they change no state and make no message. */
  skip(eventIds: Iterable<string>): void {
    for (const id of eventIds) this.skipped.add(id);
  }

  /**
   * Forgets what was read of a party before its erasure. From now on messages have none of its personal
   * data, whatever the readers still hold.
   */
  erase(partyId: string): void {
    this.erased.set(partyId, true);
    deleteWhere(this.states, ({ state }) => partiesOf(state).includes(partyId));
    deleteWhere(this.messages, (message) => message !== 'none' && message.value.includes(partyId));
  }

  /**
   * Other readers use the caches between our awaits, and entries are evicted. So everything for a page is
   * looked up before the first await and kept with the page.
   * @throws StoreUnavailable
   */
  async translate(events: readonly RecordedEvent[]): Promise<Translation> {
    const known = new Map<string, OutgoingMessage | 'none'>();
    for (const { id } of events) {
      const message = this.messages.get(id);
      if (message !== undefined) known.set(id, message);
    }
    const failures: Failures = new Map();
    const unknown = events.filter(({ id }) => !known.has(id));
    const states = await this.statesBefore(unknown, failures);

    const messages: OutgoingMessage[] = [];
    for (const event of events) {
      if (failures.has(event.streamId)) continue;
      try {
        // Also for a cached message: later events of its stream are folded onto this state.
        const step = this.advance(states, event);
        const message =
          known.get(event.id) ??
          this.messages.get(event.id) ??
          (step && this.messageOf(event, step));
        if (!message) throw new OutOfOrder(`event ${event.id} is out of order in its stream`);
        this.messages.set(event.id, message);
        if (message !== 'none') messages.push(message);
      } catch (error) {
        if (error instanceof OutOfOrder) throw error;
        failures.set(event.streamId, { first: event, cause: asUnreadable(event, error) });
      }
    }
    this.keep(states);
    return { messages, unreadable: [...failures.values()] };
  }

  private messageOf(event: RecordedEvent, step: Step): OutgoingMessage | 'none' {
    if (this.skipped.has(event.id)) return 'none';
    const message = messageOf(event, step);
    return message !== 'none' && this.isErased(step.after) ? this.withoutErased(message) : message;
  }

  private isErased({ state }: Loaded<unknown>): boolean {
    return partiesOf(state).some((partyId) => this.erased.has(partyId));
  }

  private withoutErased(message: OutgoingMessage): OutgoingMessage {
    const event = JSON.parse(message.value) as { readonly data: object };
    const data = withErased(event.data, (partyId) => this.erased.has(partyId));
    return data === event.data
      ? message
      : { ...message, value: JSON.stringify({ ...event, data }) };
  }

  /** The state of each stream before its first event here. States that are not cached are read concurrently. */
  private async statesBefore(
    events: readonly RecordedEvent[],
    failures: Failures,
  ): Promise<Map<string, Loaded<unknown>>> {
    const states = new Map<string, Loaded<unknown>>();
    const missing: RecordedEvent[] = [];
    for (const event of new Map(events.toReversed().map((e) => [e.streamId, e])).values()) {
      const { streamId, revision } = event;
      const state = revision === 0 ? foldOf(streamId)([]) : this.states.get(streamId);
      if (state !== undefined && follows(event, state)) states.set(streamId, state);
      else missing.push(event);
    }
    if (missing.length === 0) return states;
    const left = missing.values();
    const reader = async () => {
      for (const event of left) {
        const { streamId } = event;
        try {
          states.set(streamId, await this.stateBefore(event));
        } catch (error) {
          if (!(error instanceof UnreadableEvent)) throw error;
          failures.set(streamId, { first: event, cause: error });
        }
      }
    };
    await Promise.all(Array.from({ length: readsInFlightMax }, reader));
    return states;
  }

  /**
   * A client can make a stream very long. It is read a page at a time, from the cached state if that is an
   * earlier one.
   * @throws StoreUnavailable, UnreadableEvent
   */
  private async stateBefore(event: RecordedEvent): Promise<Loaded<unknown>> {
    const { streamId, revision } = event;
    const kept = this.states.get(streamId);
    const isEarlier = kept !== undefined && nextRevision(kept) < revision;
    let state = isEarlier ? kept : foldOf(streamId)([]);
    while (nextRevision(state) < revision) {
      const from = nextRevision(state);
      const maxCount = Math.min(streamPageMax, revision - from);
      const page = await this.store.readStream(streamId, { from, maxCount });
      // A replica of the store may lag behind the replica from which the log was read.
      if (page.length === 0) throw new StoreUnavailable(`${streamId} lags behind the log`);
      state = page.reduce((loaded, earlier) => this.after(loaded, earlier), state);
    }
    return state;
  }

  /** Null for an event before the cached state: its message is cached. */
  private advance(states: Map<string, Loaded<unknown>>, event: RecordedEvent): Step | null {
    const before = states.get(event.streamId);
    if (before === undefined || !follows(event, before)) return null;
    const after = this.after(before, event);
    states.set(event.streamId, after);
    return { before, after };
  }

  /** @throws UnreadableEvent */
  private after(before: Loaded<unknown>, event: RecordedEvent): Loaded<unknown> {
    if (this.skipped.has(event.id))
      return { ...before, revision: event.revision, lastEvent: event };
    const fold = foldOf(event.streamId);
    try {
      return fold([event], before);
    } catch (error) {
      throw asUnreadable(event, error);
    }
  }

  /**
   * A slower reader does not replace the newer state that a faster reader needs. One at the same revision may be of events
   * that a failover to an older replica has lost.
   */
  private keep(states: ReadonlyMap<string, Loaded<unknown>>): void {
    for (const [streamId, state] of states) {
      // Read before the erasure, perhaps: the next event of the stream reads it again.
      if (this.isErased(state)) continue;
      const kept = this.states.get(streamId);
      if (kept !== undefined && nextRevision(kept) > nextRevision(state)) continue;
      if (hasEnded(state)) this.states.delete(streamId);
      // Without its event, which would be half of what the cache takes. No fold needs it.
      else this.states.set(streamId, { ...state, lastEvent: null });
    }
  }
}

function deleteWhere<Value extends object | string>(
  cache: LRUCache<string, Value>,
  isMeant: (value: Value) => boolean,
): void {
  for (const [key, value] of [...cache.entries()]) if (isMeant(value)) cache.delete(key);
}

/** The parties of a payment; the party itself, of its own stream. */
function partiesOf(state: unknown): readonly string[] {
  if (typeof state !== 'object' || state === null) return [];
  const { contactId, originatorId, link } = state as {
    readonly contactId?: unknown;
    readonly originatorId?: unknown;
    // Of somebody who is no saved contact, the link alone has the ID.
    readonly link?: { readonly counterpartyId?: unknown } | null;
  };
  return [contactId, originatorId, link?.counterpartyId].filter((id) => typeof id === 'string');
}

/** Whether it is a payment to which little happens any more. What still does reads its stream. */
function hasEnded({ state }: Loaded<unknown>): boolean {
  const { status } = (state ?? {}) as { readonly status?: unknown };
  return finalStatuses.some((final) => final === status);
}

/** A bug in this code, not a fault of the event. */
class OutOfOrder extends Error {
  override readonly name = 'OutOfOrder';
}

function asUnreadable(event: RecordedEvent, cause: unknown): UnreadableEvent {
  if (cause instanceof UnreadableEvent) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new UnreadableEvent(event, reason, { cause });
}

function nextRevision({ revision }: Loaded<unknown>): number {
  return revision === 'noStream' ? 0 : revision + 1;
}

function follows(event: RecordedEvent, state: Loaded<unknown>): boolean {
  return event.revision === nextRevision(state);
}

function foldOf(streamId: string): Fold {
  const facts = publicFactsOf(streamId);
  if (facts === null) throw new Error(`there are no integration events for stream ${streamId}`);
  return facts.fold;
}
