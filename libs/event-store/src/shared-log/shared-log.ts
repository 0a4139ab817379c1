/**
 * One reading of the log for all subscribers of a process. Several consumers live in one process; each
 * used to read and parse every event by itself.
 *
 * One subscription follows the log from its end on and keeps the last events. A subscriber that stands
 * among them is served from memory. One that stands before them catches up by a subscription of its own
 * until it has reached them; so does one that falls behind because it is slow.
 *
 * What always holds, for each subscriber:
 * - it sees each of its events once, in order, as on a subscription of its own;
 * - whenever it joins, it is served only what was read after that. What was kept before may be of a log
 *   that has been cut since, and written anew: a restore of an older backup does that.
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
  LogReader,
  type LogReaderLimits,
  type ReaderEnd,
} from './log-reader.js';
import { matching } from './recent-events.js';

export interface SharedLogLimits extends LogReaderLimits {
  /** Events in a page, when the subscriber does not say. */
  readonly pageMax: number;
}

export const sharedLogLimits: SharedLogLimits = {
  eventsMax: 10_000,
  bytesMax: 16_000_000,
  pageMax: 500,
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
  /** Where it stands: after the last page that it was given. */
  after: Position;
  /** Whether `after` is known to be a position of this log. */
  isInLog: boolean;
  /** It is served from memory from here on; null when it is to join anew. */
  joinsAt: Position | null;
}

/**
 * What a subscriber needs next: to catch up, because it stands before the kept events; to join, because it
 * has reached them or the reader was replaced; nothing, because it is over.
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
      isInLog: false,
      joinsAt: null,
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

  /** Serves from memory, and goes on with what the shared reader reads. */
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
      while (!signal.aborted) {
        const { rung } = reader.bell;
        if (reader.recent !== null && !canJoin(subscriber, reader.recent)) return 'catchUp';
        const page = reader.pageAfter(subscriber.after, matches, pageMax);
        if (page !== null) yield given(subscriber, page);
        else if (reader.end === null) await reader.bell.wait(rung, hourMs, signal);
        else return afterEnd(reader.end);
      }
      return 'over';
    } finally {
      unlisten();
    }
  }

  /** A subscription of its own, until it has reached what is kept. */
  async *#catchUp(subscriber: Subscriber): AsyncGenerator<LogPage, Turn, undefined> {
    const { options, after } = subscriber;
    subscriber.joinsAt = null;
    for await (const page of this.store.subscribe({ ...options, after })) {
      yield given(subscriber, page);
      const recent = this.#reader?.recent ?? null;
      if (recent !== null && canJoin(subscriber, recent)) return 'join';
    }
    return 'over';
  }

  /**
   * False for a position that the log has not reached: it may be of another log, and the store itself says
   * what it makes of it.
   */
  async #isInLog(subscriber: Subscriber, { recent }: LogReader): Promise<boolean> {
    if (recent === null || subscriber.isInLog || subscriber.after <= recent.end) return true;
    try {
      subscriber.isInLog = (await this.store.lastPosition()) >= subscriber.after;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
    }
    return subscriber.isInLog;
  }

  /** The reader, if it reads these streams, too; otherwise another one in its place. */
  #readerOf(streamPrefixes: readonly string[] | undefined): LogReader {
    const reader = this.#reader;
    const canServe =
      reader !== null && reader.end === null && covers(reader.streamPrefixes, streamPrefixes);
    return canServe ? reader : this.#replaceReader();
  }

  #replaceReader(): LogReader {
    const after = this.#reader?.recent?.end ?? null;
    this.#stopReader();
    const wanted = [...this.#subscribers].map(({ options }) => options.streamPrefixes);
    this.#reader = new LogReader(this.store, union(wanted), this.limits, after);
    return this.#reader;
  }

  #stopReader(): void {
    this.#reader?.stop();
    this.#reader = null;
  }
}

/** A subscriber that goes from one subscription to another stays connected. */
function onceConnected(listener: ConnectionListener = () => undefined): ConnectionListener {
  let isConnected = false;
  return (failure) => {
    if (failure !== null || !isConnected) listener(failure);
    isConnected = failure === null;
  };
}

/** Whether the subscriber stands where it can be served from memory. Where that is, is settled when it asks. */
function canJoin(subscriber: Subscriber, { start, end }: { start: Position; end: Position }) {
  if (subscriber.after < start) {
    subscriber.joinsAt = null;
    return false;
  }
  subscriber.joinsAt ??= end;
  return subscriber.after >= subscriber.joinsAt;
}

function given(subscriber: Subscriber, page: LogPage): LogPage {
  subscriber.after = page.position;
  subscriber.isInLog = true;
  return page;
}

/** @throws what ended the reader for good */
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

/** Undefined, which is all streams, when one of them wants all. */
function union(wanted: readonly Prefixes[]): Prefixes {
  const all = new Set<string>();
  for (const prefixes of wanted) {
    if (prefixes === undefined) return undefined;
    for (const prefix of prefixes) all.add(prefix);
  }
  return [...all].filter((one) => ![...all].some((it) => it !== one && one.startsWith(it)));
}
