/**
 * A live subscription to the log, collected into pages, for every client of EventStoreDB. At most two pages
 * are between the server and the consumer. When they are full, the server is paused.
 *
 * The server filters by stream name and sends a checkpoint now and then while nothing matches; a
 * position may therefore lag by up to checkpointEvents events that do not match.
 */
import { Bell, backoffMs, pause } from '@pis/postgres';
import {
  EventsLost,
  type LogPage,
  type Position,
  type RecordedEvent,
  StoreUnavailable,
  type SubscribeOptions,
} from '../port.js';
import { classified, isOfNoPlace } from './faults.js';

export interface LiveSubscriptionLimits {
  readonly pageMax: number;
  /** The server sends a checkpoint at least after this many events that do not match. */
  readonly checkpointEvents: number;
  readonly retryInitialMs: number;
  readonly retryMaxMs: number;
  /** The time limit for the confirmation of a subscription. */
  readonly subscribeTimeoutMs: number;
}

/** Receives from the server. Calls after the end are ignored. */
export interface LogSink {
  confirmed(): void;
  event(event: RecordedEvent): void;
  checkpoint(position: Position): void;
  /** Null when the server ended the subscription without an error. */
  ended(error: unknown): void;
}

export interface OpenLog {
  pause(): void;
  resume(): void;
  cancel(): void;
}

/** Subscribes to what follows `after` in these streams. @throws StoreUnavailable */
export type OpenLogAt = (
  after: Position,
  streamPrefixes: readonly string[] | undefined,
  sink: LogSink,
) => Promise<OpenLog>;

/** For waits that only a bell ends. */
const hourMs = 3_600_000;

/** The id of the event at a position; null without one. @throws StoreUnavailable */
export type EventIdAt = (position: Position) => Promise<string | null>;

/**
 * Survives a lost connection: restarts after the last page that was yielded, if the log still has the last event that was.
 * @throws EventsLost
 */
export async function* liveSubscription(
  open: OpenLogAt,
  eventIdAt: EventIdAt,
  limits: LiveSubscriptionLimits,
  options: SubscribeOptions,
): AsyncGenerator<LogPage, void, undefined> {
  const { signal } = options;
  let { after } = options;
  let last = readEvent(after, options.afterEventId);
  const openIfKnown: OpenLogAt = async (...args) => {
    const log = await open(...args);
    try {
      if (last !== null && (await eventIdAt(last.position)) !== last.eventId)
        throw new EventsLost(last.position);
    } catch (error) {
      log.cancel();
      throw error;
    }
    return log;
  };
  let failures = 0;
  while (!signal.aborted) {
    try {
      for await (const page of pagesUntilCut(openIfKnown, limits, { ...options, after })) {
        failures = 0;
        after = page.position;
        last = readEvent(after, page.eventId) ?? last;
        yield page;
      }
      if (!signal.aborted)
        options.onConnection?.(new StoreUnavailable('EventStoreDB ended the subscription'));
    } catch (error) {
      const known = classified(error);
      if (isOfNoPlace(known)) throw new EventsLost(after);
      if (!(known instanceof StoreUnavailable) || known instanceof EventsLost) throw known;
      options.onConnection?.(known);
    }
    await pause(backoffMs(failures++, limits.retryInitialMs, limits.retryMaxMs), signal);
  }
}

function readEvent(position: Position, eventId: string | undefined) {
  return eventId === undefined ? null : { position, eventId };
}

/** Runs one connection. Ends with the signal or with the stream; throws when the stream breaks. */
async function* pagesUntilCut(
  open: OpenLogAt,
  limits: LiveSubscriptionLimits,
  { after, streamPrefixes, pageMax = limits.pageMax, signal, onConnection }: SubscribeOptions,
): AsyncGenerator<LogPage, void, undefined> {
  const arrivals = new Arrivals(after, 2 * pageMax);
  const unconfirmed = setTimeout(() => {
    arrivals.ended(new StoreUnavailable('EventStoreDB did not confirm the subscription in time'));
  }, limits.subscribeTimeoutMs);
  let log: OpenLog | null = null;
  try {
    log = await open(after, streamPrefixes, {
      confirmed: () => {
        clearTimeout(unconfirmed);
        if (!signal.aborted) onConnection?.(null);
      },
      event: (event) => arrivals.event(event),
      checkpoint: (position) => arrivals.checkpoint(position),
      ended: (error) => arrivals.ended(error),
    });
    arrivals.flowsFrom(log);
    while (!signal.aborted) {
      const { rung } = arrivals.bell;
      const page = arrivals.take(pageMax);
      if (page !== null) yield page;
      else if (arrivals.end === null) await arrivals.bell.wait(rung, hourMs, signal);
      else if (arrivals.end.error === null) return;
      else throw arrivals.end.error;
    }
  } finally {
    clearTimeout(unconfirmed);
    log?.cancel();
  }
}

/** The received events that were not taken yet. */
class Arrivals {
  readonly bell = new Bell();
  end: { readonly error: unknown } | null = null;
  #events: RecordedEvent[] = [];
  #checkpoint: Position;
  /** Of the last received event. */
  #received: Position;
  /** Of the last page taken. */
  #taken: Position;
  #log: OpenLog | null = null;
  #isPaused = false;

  constructor(
    after: Position,
    private readonly eventsMax: number,
  ) {
    this.#checkpoint = after;
    this.#received = after;
    this.#taken = after;
  }

  flowsFrom(log: OpenLog): void {
    this.#log = log;
    if (this.#isPaused) log.pause();
  }

  event(event: RecordedEvent): void {
    // The server sends each event once and in order; a consumer's checkpoint depends on it.
    if (event.position <= this.#received) return;
    this.#received = event.position;
    this.#events.push(event);
    if (this.#events.length >= this.eventsMax && !this.#isPaused) {
      this.#isPaused = true;
      this.#log?.pause();
    }
    this.bell.ring();
  }

  checkpoint(position: Position): void {
    if (position > this.#checkpoint) this.#checkpoint = position;
    this.bell.ring();
  }

  ended(error: unknown): void {
    this.end ??= { error };
    this.bell.ring();
  }

  /** Null without new events. */
  take(max: number): LogPage | null {
    const events = this.#events.splice(0, max);
    const last = events.at(-1);
    if (this.#isPaused && this.#events.length < this.eventsMax / 2) {
      this.#isPaused = false;
      this.#log?.resume();
    }
    const reached = last?.position ?? this.#taken;
    // Events arrive before their checkpoint, which counts once all of them are taken.
    const isDrained = this.#events.length === 0;
    const position = isDrained && this.#checkpoint > reached ? this.#checkpoint : reached;
    if (position === this.#taken) return null;
    this.#taken = position;
    return { events, position, ...(last?.position === position && { eventId: last.id }) };
  }
}
