/**
 * The event store in PostgreSQL (ARCHITECTURE.md, "Decisions", group commit). The tables and the
 * append function are in libs/read-models/prisma/migrations/20261205000300_events_partitioned.
 */
import { type ChannelHandler, Listener } from '@pis/postgres';
import type pg from 'pg';
import { type SubscribedPage, pagedSubscription } from '../paged-subscription.js';
import {
  type EventStore,
  EventsLost,
  type ReadLogOptions,
  type ReadOptions,
  type RecordedEvent,
  StoreUnavailable,
  WrongExpectedRevision,
  beginning,
} from '../port.js';
import {
  type ProposedAppend,
  isStreamId,
  proposeAppend,
  recordedEvent,
} from '../proposed-append.js';
import { AppendQueue, type AppendQueueLimits } from './append-queue.js';
import { type Query, database } from './database.js';
import { LogHead } from './log-head.js';
import { appendToPartition, partitionEventsDefault } from './log-partitions.js';
import { StreamLoader, type StreamLoaderLimits, type StreamPart } from './stream-loader.js';
import * as sql from './statements.js';

export interface PostgresEventStoreOptions extends Partial<PostgresEventStoreLimits> {
  /** Belongs to the caller, who ends it after the store is closed. */
  readonly pool: pg.Pool;
  /** For the listening connection, if the pool uses a proxy that cannot listen. Default: the pool's. */
  readonly listenConnectionString?: string;
  /** Listens to `eventsChannel`. Belongs to the caller, who stops it after the store is closed. Default: one of the store. */
  readonly listener?: Listener;
}

/** Each append notifies it of the position of its last event. */
export const eventsChannel = 'pis_events';

export interface PostgresEventStoreLimits extends AppendQueueLimits, StreamLoaderLimits {
  readonly queryTimeoutMs: number;
  /** Positions of a partition of the log that an append has to make. */
  readonly partitionEvents: number;
  /** Events in a page of the log, when the reader does not say. */
  readonly pageMax: number;
  /** Positions read for one page, at most, however few events match. */
  readonly pagePositionsMax: number;
  /** Events of this process that its subscriptions need not read back, and their approximate size, at most. */
  readonly ownEventsMax: number;
  readonly ownBytesMax: number;
  /**
   * How often the head of the log is polled: while it is proven that notifications arrive, while the listening connection
   * alone is there, and without it.
   */
  readonly pollProvenIntervalMs: number;
  readonly pollIntervalMs: number;
  readonly pollWithoutListenIntervalMs: number;
  /** How often each subscription polls by itself, regardless of the known head of the log. */
  readonly subscriptionPollIntervalMs: number;
  readonly retryInitialMs: number;
  readonly retryMaxMs: number;
}

export const postgresEventStoreLimits: PostgresEventStoreLimits = {
  batchAppendsMax: 256,
  batchBytesMax: 4_000_000,
  queueMax: 10_000,
  queryStreamsMax: 200,
  queriesInFlightMax: 2,
  queryTimeoutMs: 10_000,
  partitionEvents: partitionEventsDefault,
  pageMax: 500,
  pagePositionsMax: 5_000,
  ownEventsMax: 1_000,
  ownBytesMax: 4_000_000,
  pollProvenIntervalMs: 15_000,
  pollIntervalMs: 2_000,
  pollWithoutListenIntervalMs: 200,
  subscriptionPollIntervalMs: 60_000,
  retryInitialMs: 50,
  retryMaxMs: 2_000,
};

export function postgresEventStore({
  pool,
  listenConnectionString,
  listener: sharedListener,
  ...given
}: PostgresEventStoreOptions): EventStore {
  const limits = { ...postgresEventStoreLimits, ...given };
  // A server that does not answer may have been replaced, and the listener may still listen to it.
  const query = database(pool, limits.queryTimeoutMs, () => listener.doubt());
  const closing = new AbortController();
  const head = new LogHead({
    readHead: () => lastPosition(query),
    intervalMs() {
      if (listener.isProven) return limits.pollProvenIntervalMs;
      return listener.listening ? limits.pollIntervalMs : limits.pollWithoutListenIntervalMs;
    },
    own: { eventsMax: limits.ownEventsMax, bytesMax: limits.ownBytesMax },
  });
  const commits = new AppendQueue(
    (batch) =>
      head.whileAppending(async () => {
        try {
          const { outcomes, beforeId } = await writeBatch(query, batch, limits);
          if (head.isFollowed) noteOwn(head, batch, outcomes, beforeId);
          for (const outcome of outcomes) if (outcome.done) head.notified(outcome.position);
          return outcomes;
        } catch (error) {
          head.forget();
          throw error;
        }
      }),
    limits,
  );
  const loader = new StreamLoader((parts) => readParts(query, parts), limits);
  const listener =
    sharedListener ??
    new Listener({
      channels: [eventsChannel],
      connection:
        listenConnectionString === undefined
          ? pool.options
          : { connectionString: listenConnectionString },
      retryInitialMs: limits.retryInitialMs,
      retryMaxMs: limits.retryMaxMs,
      connectTimeoutMs: limits.queryTimeoutMs,
    });
  const handler: ChannelHandler = {
    channel: eventsChannel,
    onNotification: (position) => head.notified(positionOf(position)),
    onListening: () => head.listens(),
    onDoubt: () => head.pollNow(),
  };
  listener.add(handler);
  const opened = () => {
    if (closing.signal.aborted) throw new StoreUnavailable('the store is closed');
  };

  return {
    sealing: null,

    async append(streamId, expected, events) {
      const outcome = await commits.append(proposeAppend(streamId, expected, events));
      if (!outcome.done) throw new WrongExpectedRevision(streamId, expected, outcome.actual);
      return { revision: outcome.revision, position: outcome.position };
    },

    async readStream(streamId, options = {}) {
      opened();
      if (!isStreamId(streamId)) return [];
      const { from = 0, maxCount = null } = options;
      return options.direction === 'backwards'
        ? readBackwards(query, streamId, options)
        : loader.load({ streamId, from, maxCount });
    },

    async readStreams(streamIds) {
      opened();
      return Promise.all(
        streamIds.map(async (streamId) =>
          isStreamId(streamId) ? loader.load(whole(streamId)) : [],
        ),
      );
    },

    async readLog(options) {
      opened();
      const { isLast: _, ...page } = await readLog(query, limits, options);
      return page;
    },

    async lastPosition() {
      opened();
      return lastPosition(query);
    },

    async lastEvent(upTo) {
      opened();
      const [row] = await query<sql.EventRow>(sql.readLastUpTo, [String(placeOf(upTo))]);
      return row === undefined ? null : eventOf(row);
    },

    subscribe({ signal, ...options }) {
      listener.start();
      head.start();
      const { retryInitialMs, retryMaxMs } = limits;
      const pages = pagedSubscription(
        {
          readLog: async (page) =>
            head.pageAfter(page, page.pageMax ?? limits.pageMax) ?? readLog(query, limits, page),
          bell: head.bell,
          pollIntervalMs: () => limits.subscriptionPollIntervalMs,
          retryInitialMs,
          retryMaxMs,
          losses: () => head.losses,
        },
        { ...options, signal: AbortSignal.any([signal, closing.signal]) },
      );
      return head.followed(pages);
    },

    async ping() {
      opened();
      await lastPosition(query);
    },

    async close() {
      closing.abort();
      head.stop();
      listener.remove(handler);
      await Promise.all([commits.close(), sharedListener === undefined && listener.stop()]);
    },
  };
}

type Outcome =
  | {
      readonly done: true;
      readonly revision: number;
      /** Of its last event. */
      readonly position: string;
      /** Whether this append has written the events, and not an earlier one of the same ids. */
      readonly isNew: boolean;
    }
  | { readonly done: false; readonly actual: number | 'noStream' };

async function writeBatch(
  query: Query,
  batch: readonly ProposedAppend[],
  { partitionEvents }: PostgresEventStoreLimits,
): Promise<{ readonly outcomes: readonly Outcome[]; readonly beforeId: string | null }> {
  const parameters = appendParameters(batch);
  const rows = await appendToPartition(query, {
    events: batch.reduce((sum, { events }) => sum + events.length, 0),
    partitionEvents,
    append: () => query<sql.AppendRow>(sql.appendEvents, parameters),
  });
  if (rows.length !== batch.length) throw new StoreUnavailable('the log has no head');
  const outcomes: Outcome[] = [];
  for (const { append, done, at_revision, at_position, is_new } of rows) {
    const revision = Number(at_revision);
    outcomes[append] =
      done && at_position !== null
        ? { done: true, revision, position: positionOf(at_position), isNew: is_new }
        : { done: false, actual: revision < 0 ? 'noStream' : revision };
  }
  return { outcomes, beforeId: rows[0]?.before_id ?? null };
}

/** A batch gives its new events positions one after the other, in its order. */
function noteOwn(
  head: LogHead,
  batch: readonly ProposedAppend[],
  outcomes: readonly Outcome[],
  beforeId: string | null,
): void {
  const written = batch.flatMap(({ streamId, events }, append) => {
    const outcome = outcomes[append];
    if (outcome?.done !== true || !outcome.isNew) return [];
    const last = placeOf(outcome.position);
    return events.map((event, index) => {
      const behind = events.length - 1 - index;
      const place = last - BigInt(behind);
      return { ...event, streamId, revision: outcome.revision - behind, place };
    });
  });
  const [first] = written;
  if (first === undefined) return;
  head.appended(
    { position: positionOf(String(first.place - 1n)), id: beforeId },
    written.map(({ place, ...event }) =>
      recordedEvent({ ...event, position: positionOf(String(place)) }),
    ),
  );
}

/** The parameters of append_events, see the migration. JSON.stringify leaves no line feed in a text. */
function appendParameters(batch: readonly ProposedAppend[]): readonly [string, string, string] {
  const proposals: string[] = [];
  const data: string[] = [];
  const metadata: string[] = [];
  for (const [append, { streamId, expected, events }] of batch.entries()) {
    const x = expected === 'noStream' ? -1 : expected;
    const head = `{"a":${append},"s":${JSON.stringify(streamId)},"x":${x},"n":${events.length}`;
    for (const [offset, event] of events.entries()) {
      proposals.push(`${head},"o":${offset},"i":"${event.id}","t":${JSON.stringify(event.type)}}`);
      data.push(event.data);
      metadata.push(event.metadata);
    }
  }
  return [`[${proposals.join(',')}]`, data.join('\n'), metadata.join('\n')];
}

const whole = (streamId: string): StreamPart => ({ streamId, from: 0, maxCount: null });

async function readParts(query: Query, parts: readonly StreamPart[]) {
  const found = new Map<number, RecordedEvent[]>();
  const values = [
    parts.map(({ streamId }) => streamId),
    parts.map(({ from }) => from),
    parts.map(({ maxCount }) => maxCount),
  ];
  for (const { part, ...row } of await query<sql.PartRow>(sql.readParts, values)) {
    const events = found.get(part - 1);
    if (events === undefined) found.set(part - 1, [eventOf(row)]);
    else events.push(eventOf(row));
  }
  return found;
}

async function readBackwards(
  query: Query,
  streamId: string,
  { from, maxCount }: ReadOptions,
): Promise<RecordedEvent[]> {
  const values = [streamId, from ?? null, maxCount ?? null];
  return (await query<sql.EventRow>(sql.readBackwards, values)).map(eventOf);
}

async function readLog(
  query: Query,
  limits: PostgresEventStoreLimits,
  { after, afterEventId, streamPrefixes, pageMax = limits.pageMax }: ReadLogOptions,
): Promise<SubscribedPage> {
  const start = placeOf(after);
  const end = start + BigInt(Math.max(limits.pagePositionsMax, pageMax));
  const values = [String(start), String(end), pageMax];
  const rows = await (streamPrefixes === undefined
    ? query<sql.LogRow>(sql.readLog, values)
    : query<sql.LogRow>(sql.readLogOfPrefixes, [...values, streamPrefixes]));
  const { head: headText = '0', after_id: afterId = null, end_id: endId = null } = rows[0] ?? {};
  if (afterEventId !== undefined && afterId !== afterEventId) throw new EventsLost(after);
  const events = rows.flatMap((row) => (row.position === null ? [] : [eventOf(row)]));
  const last = events.at(-1);
  if (last !== undefined && events.length >= pageMax)
    return { events, position: last.position, eventId: last.id, isLast: false };
  // Everything was read up to `end`, or up to the head of the log in this query's snapshot.
  const head = BigInt(headText);
  const read = head < end ? head : end;
  const isLast = head <= end;
  const [position, id] = read > start ? [positionOf(String(read)), endId] : [after, afterId];
  return { events, position, isLast, ...(id === null ? {} : { eventId: id }) };
}

async function lastPosition(query: Query): Promise<string> {
  const [row] = await query<{ readonly head: string }>(sql.readHead, []);
  return row === undefined || row.head === '0' ? beginning : positionOf(row.head);
}

function placeOf(position: string): bigint {
  if (!/^(\d{20})?$/.test(position))
    throw new TypeError(`${JSON.stringify(position)} is not a position`);
  return BigInt(position === beginning ? 0 : position);
}

function positionOf(position: string): string {
  return position.padStart(20, '0');
}

function eventOf({ stream_id: streamId, position, ...row }: sql.EventRow): RecordedEvent {
  const { revision, id, type, data, metadata } = row;
  const stored = { streamId, revision, position: positionOf(position), id, type, data, metadata };
  return recordedEvent(stored);
}
