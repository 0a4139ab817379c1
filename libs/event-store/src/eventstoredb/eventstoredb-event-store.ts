/** The event store in EventStoreDB, through its official client or another one (see leader-connection.ts). */
import { backoffMs, pause } from '@pis/postgres';
import {
  type AppendResult,
  EventTooLarge,
  type EventStore,
  EventsLost,
  type ExpectedRevision,
  type LogPage,
  type Position,
  type ReadLogOptions,
  type ReadOptions,
  type RecordedEvent,
  StoreUnavailable,
  WrongExpectedRevision,
  appendSizeMaxBytes,
  beginning,
} from '../port.js';
import { type ProposedAppend, isStreamId, proposeAppend } from '../proposed-append.js';
import { parseEventStoreDbUrl } from './connection-string.js';
import { faultOf, isOfNoPlace } from './faults.js';
import { LeaderConnection } from './leader-connection.js';
import {
  type LiveSubscriptionLimits,
  type OpenLogAt,
  liveSubscription,
} from './live-subscription.js';
import { LogPages, type LogPagesLimits } from './log-pages.js';
import { appendMessages, recordedIn, subscriptionRequest } from './messages.js';
import { type LogPlace, Namespace, namespaceDefault, placeOf, positionOf } from './namespace.js';
import { LeaderReads } from './leader-reads.js';
import type { EventStoreDbReads } from './reads.js';
import { untilWinnerCanBeRead } from './winning-event.js';

export interface EventStoreDbEventStoreOptions extends Partial<EventStoreDbEventStoreLimits> {
  /** What the official client accepts: `esdb://…` or `esdb+discover://…` */
  readonly connectionString: string;
  /** Before the name of every stream, see namespace.ts. */
  readonly namespace?: string;
}

export interface EventStoreDbEventStoreLimits extends LiveSubscriptionLimits, LogPagesLimits {
  /** The time limit of one append, including repetitions while its outcome is unknown. */
  readonly appendTimeoutMs: number;
  /** How long the winning event of a conflict may be unreadable. */
  readonly conflictTimeoutMs: number;
  /** Streams read in parallel, at most. */
  readonly readsInFlightMax: number;
}

const eventStoreDbEventStoreLimits: EventStoreDbEventStoreLimits = {
  appendTimeoutMs: 10_000,
  readTimeoutMs: 30_000,
  conflictTimeoutMs: 3_000,
  readsInFlightMax: 32,
  pageMax: 500,
  pageEventsMax: 5_000,
  checkpointEvents: 32,
  retryInitialMs: 50,
  retryMaxMs: 2_000,
  subscribeTimeoutMs: 10_000,
};

/** The pause between two queries for the outcome of an append. */
const askAgainInitialMs = 20;
const askAgainMaxMs = 500;

/** What differs between the clients. */
export interface EventStoreDbClient {
  readonly namespace: Namespace;
  /** Appends and subscriptions. */
  readonly connection: LeaderConnection;
  readonly reads: EventStoreDbReads;
}

/** With the official client. @throws TypeError when the connection string or the namespace is not one */
export function eventStoreDbEventStore({
  connectionString,
  namespace: namespaceName = namespaceDefault,
  ...given
}: EventStoreDbEventStoreOptions): EventStore {
  const namespace = new Namespace(namespaceName);
  const connection = new LeaderConnection(parseEventStoreDbUrl(connectionString));
  const reads = new LeaderReads(connection, namespace);
  return eventStoreOn({ namespace, connection, reads }, given);
}

export function eventStoreOn(
  { namespace, connection, reads }: EventStoreDbClient,
  given: Partial<EventStoreDbEventStoreLimits>,
): EventStore {
  const limits = { ...eventStoreDbEventStoreLimits, ...given };
  const { readTimeoutMs, appendTimeoutMs } = limits;
  const closing = new AbortController();
  const pages = new LogPages(reads, limits);
  /** For reads whose failure must be understood: the successor's reads do not say why they fail. */
  const plainReads = new LeaderReads(connection, namespace);

  const readStream = async (
    streamId: string,
    options: ReadOptions = {},
    timeoutMs = readTimeoutMs,
  ): Promise<RecordedEvent[]> => {
    if (!isStreamId(streamId) || options.maxCount === 0) return [];
    const found = await reads.stream(namespace.add(streamId), options, timeoutMs);
    return found.map(({ recorded }) => recorded).filter((event) => event !== null);
  };

  /** Our last events before a position, backwards. */
  const before = (from: LogPlace | 'end', maxCount: number) => {
    const prefixes = namespace.prefixes(undefined);
    return reads.log({ from, direction: 'backwards', maxCount, prefixes }, readTimeoutMs);
  };

  const lastBefore = async (from: LogPlace | 'end') => (await before(from, 1))[0]?.recorded ?? null;

  /** The first event from a place on, if it is ours. */
  const eventAt = async (from: LogPlace) => {
    const [at] = await plainReads.log({ from, maxCount: 1 }, readTimeoutMs);
    return at?.recorded ?? null;
  };

  /** Searches from the end. For a position where no event of the log begins: the server cannot read from there. */
  const lastUpTo = async (upTo: Position): Promise<RecordedEvent | null> => {
    for (let from: LogPlace | 'end' = 'end'; ; ) {
      const page = await before(from, limits.pageMax);
      const found = page.find(({ position }) => position <= upTo);
      if (found !== undefined) return found.recorded;
      const earliest = page.at(-1);
      const place = earliest === undefined ? null : placeOf(earliest.position);
      if (place === null) return null;
      from = place;
    }
  };

  /** Checks the end first: a reader is usually there, and a position past the end is not in the log. */
  const lastEvent = async (upTo: Position): Promise<RecordedEvent | null> => {
    const place = placeOf(upTo);
    const last = await lastBefore('end');
    if (last === null || last.position <= upTo) return last;
    if (place === null) return null;
    try {
      const event = await eventAt(place);
      return event?.position === upTo ? event : await lastBefore(place);
    } catch (error) {
      if (isOfNoPlace(error)) return lastUpTo(upTo);
      throw error;
    }
  };

  const eventIdAt = async (position: Position) => {
    const event = await lastEvent(position);
    return event?.position === position ? event.id : null;
  };

  const readLog = async (options: ReadLogOptions): Promise<LogPage> => {
    const { after, afterEventId } = options;
    const isLost = async () =>
      afterEventId !== undefined && (await eventIdAt(after)) !== afterEventId;
    try {
      const page = await pages.page(options);
      if (!(await isLost())) return page;
    } catch (error) {
      if (!isOfNoPlace(error) && !(await isLost())) throw error;
    }
    throw new EventsLost(after);
  };

  return {
    sealing: null,

    async append(streamId, expected, events): Promise<AppendResult> {
      const proposed = proposeAppend(streamId, expected, events);
      const revision = (expected === 'noStream' ? -1 : expected) + events.length;
      try {
        const position = await appendForSure(connection, namespace, proposed, appendTimeoutMs);
        if (position !== null) return { revision, position };
      } catch (error) {
        if (!(error instanceof WrongExpectedRevision)) throw error;
        const canRead = async (from: number) =>
          (await readStream(streamId, { from, maxCount: 1 }, limits.conflictTimeoutMs)).length > 0;
        await untilWinnerCanBeRead(error, limits.conflictTimeoutMs, canRead);
        throw error;
      }
      // The server may answer a repeated append without a position.
      const [last] = await readStream(streamId, { from: revision, maxCount: 1 });
      if (last === undefined) throw new StoreUnavailable(`${streamId} lags behind its own append`);
      return { revision, position: last.position };
    },

    readStream: (streamId, options) => readStream(streamId, options),

    async readStreams(streamIds) {
      const streams = new Map<string, readonly RecordedEvent[]>();
      const left = [...new Set(streamIds)];
      const reader = async () => {
        for (let id = left.pop(); id !== undefined; id = left.pop())
          streams.set(id, await readStream(id));
      };
      await Promise.all(Array.from({ length: limits.readsInFlightMax }, reader));
      return streamIds.map((streamId) => streams.get(streamId) ?? []);
    },

    readLog,

    /** Of our own streams: a subscription never receives the others. */
    async lastPosition() {
      return (await lastBefore('end'))?.position ?? beginning;
    },

    lastEvent,

    subscribe: ({ signal, ...options }) =>
      liveSubscription(logOf(connection, namespace, limits), eventIdAt, limits, {
        ...options,
        signal: AbortSignal.any([signal, closing.signal]),
      }),

    async ping() {
      await reads.log({ from: 'end', direction: 'backwards', maxCount: 1 }, readTimeoutMs);
    },

    async close() {
      closing.abort();
      pages.close();
      connection.close();
      reads.close();
    },
  };
}

/**
 * Appends, and repeats with the same IDs while the server says that it does not know the outcome: a write
 * that is not replicated in time, or one that repeats another that is still under way.
 * @returns the position of the last event, or null if the server does not return it
 * @throws WrongExpectedRevision, EventTooLarge, StoreUnavailable
 */
async function appendForSure(
  connection: LeaderConnection,
  namespace: Namespace,
  proposed: ProposedAppend,
  timeoutMs: number,
): Promise<string | null> {
  const { streamId, expected, sizeBytes } = proposed;
  const messages = appendMessages(namespace.add(streamId), proposed);
  const endsAtMs = performance.now() + timeoutMs;
  for (let tries = 0; ; tries += 1) {
    try {
      const answer = await connection.append(messages, endsAtMs - performance.now());
      const conflict = answer.getWrongExpectedVersion();
      if (conflict !== undefined) throw conflictOf(streamId, expected, conflict);
      const position = answer.getSuccess()?.getPosition();
      return position === undefined
        ? null
        : positionOf({
            commit: position.getCommitPosition(),
            prepare: position.getPreparePosition(),
          });
    } catch (error) {
      if (error instanceof StoreUnavailable) {
        const pauseMs = backoffMs(tries, askAgainInitialMs, askAgainMaxMs);
        const isKnown = faultOf(error.cause) !== 'commitTimeout';
        if (isKnown || performance.now() + pauseMs >= endsAtMs) throw error;
        await pause(pauseMs);
      } else if (faultOf(error) === 'tooLarge') {
        throw new EventTooLarge(streamId, sizeBytes, appendSizeMaxBytes);
      } else throw error;
    }
  }
}

function conflictOf(
  streamId: string,
  expected: ExpectedRevision,
  conflict: { hasCurrentRevision(): boolean; getCurrentRevision(): string },
): WrongExpectedRevision {
  const actual = conflict.hasCurrentRevision() ? Number(conflict.getCurrentRevision()) : 'noStream';
  return new WrongExpectedRevision(streamId, expected, actual);
}

function logOf(
  connection: LeaderConnection,
  namespace: Namespace,
  { checkpointEvents, subscribeTimeoutMs }: LiveSubscriptionLimits,
): OpenLogAt {
  return (after, streamPrefixes, sink) => {
    const prefixes = namespace.prefixes(streamPrefixes);
    const request = subscriptionRequest(placeOf(after) ?? 'start', prefixes, checkpointEvents);
    return connection.subscribe(request, subscribeTimeoutMs, {
      response: (response) => {
        const checkpoint = response.getCheckpoint();
        const event = recordedIn(namespace, response);
        if (response.hasConfirmation()) sink.confirmed();
        if (event !== null) sink.event(event);
        if (checkpoint !== undefined)
          sink.checkpoint(
            positionOf({
              commit: checkpoint.getCommitPosition(),
              prepare: checkpoint.getPreparePosition(),
            }),
          );
      },
      ended: sink.ended,
    });
  };
}
