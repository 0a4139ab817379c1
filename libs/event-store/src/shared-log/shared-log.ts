/**
 * One reading of the log for all subscribers of a process. Several consumers live in one process; each
 * used to read and parse every event by itself.
 *
 * One subscription follows the log from its end on and keeps the latest events. A subscriber whose position
 * is among them is served from memory. One that is further behind, or falls behind because it is slow,
 * catches up with its own subscription until it has reached them.
 *
 * What always holds, for each subscriber:
 * - it sees each of its events once, in order, as on a subscription of its own;
 * - it waits for the shared reading for a bounded time. If that is far behind, for example because the store
 *   gave a wrong end of the log, the subscriber goes on with its own subscription;
 * - a subscriber that joins is served only events that were read after it joined. Older kept events may
 *   come from a log that has been cut and rewritten since, by a restore of an older backup.
 *
 * The events are shared: nobody may change one. Reads of streams and of pages of the log are not served
 * from memory: a read after a commit sees what was committed.
 */
import { unreachable } from '@pis/domain';
import {
  type EventStore,
  type LogPage,
  type Position,
  StoreUnavailable,
  type SubscribeOptions,
} from '../port.js';
import {
  type ConnectionListener,
  type KnownEvents,
  LogReader,
  type LogReaderLimits,
  type ReaderEnd,
} from './log-reader.js';
import { matching } from './recent-events.js';

export interface SharedLogLimits extends LogReaderLimits {
  /** Events in a page, when the subscriber does not say. */
  readonly pageMax: number;
  /** How long a subscriber waits for a reader that has not come as far as the subscriber itself. */
  readonly behindMaxMs: number;
}

const sharedLogLimits: SharedLogLimits = {
  eventsMax: 10_000,
  bytesMax: 16_000_000,
  pageMax: 500,
  behindMaxMs: 2_000,
  retryInitialMs: 50,
  retryMaxMs: 2_000,
};

/** For waits that only a bell ends. */
const hourMs = 3_600_000;
/** A subscriber waits so long, at most, for the reader to find the end of the log. */
const beginningWaitMs = 2_000;

/** The same store, whose subscriptions share one reading of the log. */
export function sharedLog(store: EventStore, given: Partial<SharedLogLimits> = {}): EventStore {
  const log = new SharedLog(store, { ...sharedLogLimits, ...given });
  return {
    sealing: store.sealing,
    append: store.append.bind(store),
    readStream: store.readStream.bind(store),
    readStreams: store.readStreams.bind(store),
    readLog: store.readLog.bind(store),
    lastPosition: store.lastPosition.bind(store),
    lastEvent: store.lastEvent.bind(store),
    ping: store.ping.bind(store),
    subscribe: (options) => log.subscribe(options),
    close: async () => {
      log.close();
      await store.close();
    },
  };
}

interface Subscriber {
  /** With a signal that also aborts when the store is closed. */
  readonly options: SubscribeOptions;
  /** Its position: after the last page that it received. */
  after: Position;
  /** The id of the event there, if it is known. */
  afterEventId: string | undefined;
  /** Whether `after` is known to be a position of this log. */
  isInLog: boolean;
  /** It is served from memory from here on; null if it must join again. */
  joinsAt: Position | null;
  /** The reader was behind it for too long: it joins again once the reader has come as far. */
  hasWaited: boolean;
}

/**
 * What a subscriber needs next: to catch up, because it is behind the kept events; to join, because it has
 * reached them or the reader was replaced; or nothing, because it has ended.
 */
type Turn = 'catchUp' | 'join' | 'over';

class SharedLog {
  readonly #closing = new AbortController();
  readonly #subscribers = new Set<Subscriber>();
  #reader: LogReader | null = null;

  constructor(
    private readonly store: EventStore,
    private readonly limits: SharedLogLimits,
  ) {}

  async *subscribe(options: SubscribeOptions): AsyncGenerator<LogPage, void, undefined> {
    const signal = AbortSignal.any([options.signal, this.#closing.signal]);
    const onConnection = onceConnected(options.onConnection);
    const subscriber: Subscriber = {
      options: { ...options, signal, onConnection },
      after: options.after,
      afterEventId: options.afterEventId,
      isInLog: false,
      joinsAt: null,
      hasWaited: false,
    };
    this.#subscribers.add(subscriber);
    try {
      for (let turn: Turn = 'join'; turn !== 'over' && !signal.aborted; )
        turn = yield* turn === 'join' ? this.#join(subscriber) : this.#catchUp(subscriber);
    } finally {
      this.#subscribers.delete(subscriber);
      if (this.#subscribers.size === 0) this.#stopReader();
    }
  }

  close(): void {
    this.#closing.abort();
    this.#stopReader();
  }

  /** Serves from memory, and continues with the events of the shared reader. */
  async *#join(subscriber: Subscriber): AsyncGenerator<LogPage, Turn, undefined> {
    const { options } = subscriber;
    const { signal, onConnection, streamPrefixes, pageMax = this.limits.pageMax } = options;
    const matches = matching(streamPrefixes);
    const reader = this.#readerOf(streamPrefixes);
    const unlisten = reader.listen((failure) => onConnection?.(failure));
    try {
      await untilBegun(reader, signal);
      if (reader.recent === null && reader.end === null) return 'catchUp';
      if (!(await this.#isInLog(subscriber, reader))) return 'catchUp';
      const waitsUntilMs = performance.now() + this.limits.behindMaxMs;
      while (!signal.aborted) {
        const { rung } = reader.bell;
        // Nothing of what is kept then: the log may have lost it.
        if (reader.end?.by === 'error') return afterEnd(reader.end);
        if (reader.recent !== null && !canJoin(subscriber, reader.recent)) return 'catchUp';
        const page = reader.pageAfter(subscriber.after, matches, pageMax);
        if (page !== null) yield given(subscriber, page);
        else if (reader.end !== null) return afterEnd(reader.end);
        else if (hasReached(reader, subscriber)) await reader.bell.wait(rung, hourMs, signal);
        else {
          const leftMs = waitsUntilMs - performance.now();
          subscriber.hasWaited = leftMs <= 0;
          if (subscriber.hasWaited) return 'catchUp';
          await reader.bell.wait(rung, leftMs, signal);
        }
      }
      return 'over';
    } finally {
      unlisten();
    }
  }

  /** Its own subscription, until it has reached the kept events. */
  async *#catchUp(subscriber: Subscriber): AsyncGenerator<LogPage, Turn, undefined> {
    const { options, after, afterEventId } = subscriber;
    subscriber.joinsAt = null;
    for await (const page of this.store.subscribe({ ...options, after, afterEventId })) {
      yield given(subscriber, page);
      const reader = this.#reader;
      if (reader === null || (subscriber.hasWaited && !hasReached(reader, subscriber))) continue;
      if (reader.recent !== null && canJoin(subscriber, reader.recent)) return 'join';
    }
    return 'over';
  }

  /**
   * False for a position that the log has not reached, or where it has another event: it may belong to another log, and the
   * store itself decides what to do with it.
   */
  async #isInLog(subscriber: Subscriber, { recent }: LogReader): Promise<boolean> {
    const { after, afterEventId } = subscriber;
    if (recent === null || subscriber.isInLog) return true;
    if (afterEventId === undefined && after <= recent.end) return true;
    try {
      subscriber.isInLog =
        afterEventId === undefined
          ? (await this.store.lastPosition()) >= after
          : (await this.store.lastEvent(after))?.id === afterEventId;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
    }
    return subscriber.isInLog;
  }

  /** The reader, if it also reads these streams; otherwise a replacement that does. */
  #readerOf(streamPrefixes: readonly string[] | undefined): LogReader {
    const reader = this.#reader;
    const canServe =
      reader !== null && reader.end === null && covers(reader.streamPrefixes, streamPrefixes);
    return canServe ? reader : this.#replaceReader();
  }

  /** One that has failed is no place to begin at: the log may have lost its last event. */
  #replaceReader(): LogReader {
    const hasFailed = this.#reader?.end?.by === 'error';
    const former = hasFailed ? null : (this.#reader?.recent ?? null);
    this.#stopReader();
    const wanted = [...this.#subscribers].map(({ options }) => options.streamPrefixes);
    this.#reader = new LogReader(this.store, union(wanted), this.limits, former);
    return this.#reader;
  }

  #stopReader(): void {
    this.#reader?.stop();
    this.#reader = null;
  }
}

/** A subscriber that moves between subscriptions stays connected. */
function onceConnected(listener: ConnectionListener = () => undefined): ConnectionListener {
  let isConnected = false;
  return (failure) => {
    if (failure !== null || !isConnected) listener(failure);
    isConnected = failure === null;
  };
}

/** Whether the subscriber's position can be served from memory now. */
function canJoin(subscriber: Subscriber, recent: KnownEvents) {
  const { start, end } = recent;
  if (subscriber.after < start || hasReadOther(subscriber, recent)) {
    subscriber.joinsAt = null;
    return false;
  }
  subscriber.joinsAt ??= end;
  return subscriber.after >= subscriber.joinsAt;
}

/** One of both has read what the log has lost since. The subscriber's own subscription tells. */
function hasReadOther({ after, afterEventId }: Subscriber, recent: KnownEvents): boolean {
  const kept = recent.eventIdAt(after);
  return kept !== undefined && afterEventId !== undefined && kept !== afterEventId;
}

function hasReached({ recent }: LogReader, { after }: Subscriber): boolean {
  return recent !== null && recent.end >= after;
}

function given(subscriber: Subscriber, page: LogPage): LogPage {
  subscriber.after = page.position;
  subscriber.afterEventId = page.eventId;
  subscriber.isInLog = true;
  return page;
}

/** @throws the error that ended the reader for good */
function afterEnd(end: ReaderEnd): Turn {
  switch (end.by) {
    case 'error':
      throw end.error;
    case 'stop':
      return 'join';
    case 'store':
      return 'over';
    default:
      return unreachable(end);
  }
}

/**
 * Resolves when the reader has found the end of the log, or has ended. When it fails or takes long, nobody
 * waits for it: the server may be searching a log that others have filled.
 */
async function untilBegun(reader: LogReader, signal: AbortSignal): Promise<void> {
  const { rung } = reader.bell;
  if (reader.recent !== null || reader.end !== null) return;
  await reader.bell.wait(rung, beginningWaitMs, signal);
}

type Prefixes = readonly string[] | undefined;

function covers(all: Prefixes, some: Prefixes): boolean {
  if (all === undefined) return true;
  return some?.every((one) => all.some((prefix) => one.startsWith(prefix))) ?? false;
}

/** Undefined, which means all streams, if one of them wants all. */
function union(wanted: readonly Prefixes[]): Prefixes {
  const all = new Set<string>();
  for (const prefixes of wanted) {
    if (prefixes === undefined) return undefined;
    for (const prefix of prefixes) all.add(prefix);
  }
  return [...all].filter((one) => ![...all].some((it) => it !== one && one.startsWith(it)));
}
