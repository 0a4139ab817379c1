/** The event store in EventStoreDB, through its official client. */
import {
  BACKWARDS,
  END,
  EventStoreDBClient,
  NO_STREAM,
  StreamNotFoundError,
  type AllStreamResolvedEvent,
  type AppendToStreamOptions,
  type ReadStreamOptions,
  type ReadAllOptions,
  type ResolvedEvent,
  type StreamingRead,
  jsonEvent,
} from '@eventstore/db-client';
import {
  type AppendResult,
  type EventStore,
  type LogPage,
  type ReadOptions,
  type RecordedEvent,
  StoreUnavailable,
  beginning,
} from '../port.js';
import { isStreamId, proposeAppend } from '../proposed-append.js';
import { classified, classifiedAppend, within } from './errors.js';
import { type LiveSubscriptionLimits, liveSubscription } from './live-subscription.js';
import { logPosition, positionText, recorded } from './recorded.js';

export interface EventStoreDbEventStoreOptions extends Partial<EventStoreDbEventStoreLimits> {
  /** `esdb://…` or `esdb+discover://…` */
  readonly connectionString: string;
}

export interface EventStoreDbEventStoreLimits extends LiveSubscriptionLimits {
  readonly appendTimeoutMs: number;
  readonly readTimeoutMs: number;
  /** Streams read side by side, at most. */
  readonly readsInFlightMax: number;
  /** Events of the log looked at for one page, at most, however few match. */
  readonly pageEventsMax: number;
}

export const eventStoreDbEventStoreLimits: EventStoreDbEventStoreLimits = {
  appendTimeoutMs: 10_000,
  readTimeoutMs: 30_000,
  readsInFlightMax: 32,
  pageMax: 500,
  pageEventsMax: 5_000,
  checkpointEvents: 32,
  retryInitialMs: 50,
  retryMaxMs: 2_000,
};

export function eventStoreDbEventStore({
  connectionString,
  ...given
}: EventStoreDbEventStoreOptions): EventStore {
  const limits = { ...eventStoreDbEventStoreLimits, ...given };
  const { readTimeoutMs, appendTimeoutMs } = limits;
  const closing = new AbortController();
  let client = createClient(connectionString);

  /** A client whose cluster was not discovered remembers the failure for ever: take a new one. */
  const failed = (error: unknown, used: EventStoreDBClient): unknown => {
    if (error instanceof Error && error.message.startsWith('Failed to discover') && client === used)
      client = createClient(connectionString);
    return classified(error);
  };
  const opened = () => {
    if (closing.signal.aborted) throw new StoreUnavailable('the store is closed');
    return client;
  };
  const read = async <Resolved extends ResolvedEvent | AllStreamResolvedEvent>(
    start: (client: EventStoreDBClient) => StreamingRead<Resolved>,
  ): Promise<Resolved[]> => {
    const used = opened();
    try {
      return await collected(start(used), readTimeoutMs);
    } catch (error) {
      throw failed(error, used);
    }
  };

  const readStream = async (
    streamId: string,
    { from, direction = 'forwards', maxCount }: ReadOptions = {},
  ): Promise<RecordedEvent[]> => {
    if (!isStreamId(streamId) || maxCount === 0) return [];
    const range: ReadStreamOptions =
      direction === 'backwards'
        ? { fromRevision: from === undefined ? END : BigInt(from), direction: BACKWARDS }
        : { fromRevision: BigInt(from ?? 0) };
    if (maxCount !== undefined) range.maxCount = maxCount;
    try {
      const resolved = await read((used) => used.readStream(streamId, range));
      return ours(resolved);
    } catch (error) {
      if (error instanceof StreamNotFoundError) return [];
      throw error;
    }
  };

  /** The server may answer a repeated append without a position. */
  const positionAt = async (streamId: string, revision: number) => {
    const [event] = await readStream(streamId, { from: revision, maxCount: 1 });
    if (event === undefined) throw new StoreUnavailable(`${streamId} lags behind its own append`);
    return event.position;
  };

  return {
    async append(streamId, expected, events): Promise<AppendResult> {
      const { sizeBytes } = proposeAppend(streamId, expected, events);
      const used = opened();
      const revision = (expected === 'noStream' ? -1 : expected) + events.length;
      const options: AppendToStreamOptions = {
        expectedRevision: expected === 'noStream' ? NO_STREAM : BigInt(expected),
        deadline: appendTimeoutMs,
      };
      try {
        const appended = used.appendToStream(streamId, events.map(proposedEvent), options);
        const { position } = await within(appended, appendTimeoutMs);
        if (position !== undefined) return { revision, position: positionText(position) };
      } catch (error) {
        failed(error, used);
        throw classifiedAppend(error, streamId, expected, sizeBytes);
      }
      return { revision, position: await positionAt(streamId, revision) };
    },

    readStream,

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

    /** The client cannot filter a read of the log: more is read than matches. */
    async readLog({ after, streamPrefixes, pageMax = limits.pageMax }): Promise<LogPage> {
      const lookMax =
        streamPrefixes === undefined ? pageMax : Math.max(pageMax, limits.pageEventsMax);
      const fromPosition = logPosition(after);
      // The first one is the event at `after` itself.
      const resolved = await read((used) => used.readAll({ fromPosition, maxCount: lookMax + 1 }));
      const events: RecordedEvent[] = [];
      let position = after;
      for (const item of resolved) {
        if (events.length === pageMax) break;
        const at = item.event?.position ?? item.link?.position;
        if (at === undefined || positionText(at) <= after) continue;
        position = positionText(at);
        const event = recorded(item);
        if (event === null) continue;
        if (streamPrefixes?.some((prefix) => event.streamId.startsWith(prefix)) ?? true)
          events.push(event);
      }
      return { events, position };
    },

    /** The server's own events do not count: a subscription never sees them. */
    async lastPosition() {
      const options: ReadAllOptions = { direction: BACKWARDS, fromPosition: END, maxCount: 32 };
      for (;;) {
        const resolved = await read((used) => used.readAll({ ...options }));
        const [last] = ours(resolved);
        if (last !== undefined) return last.position;
        const oldest = resolved.at(-1)?.event?.position;
        if (oldest === undefined || resolved.length < (options.maxCount ?? 0)) return beginning;
        options.fromPosition = oldest;
        options.maxCount = limits.pageEventsMax;
      }
    },

    subscribe: ({ signal, ...options }) =>
      liveSubscription(() => client, limits, {
        ...options,
        signal: AbortSignal.any([signal, closing.signal]),
      }),

    async ping() {
      await read((used) => used.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 }));
    },

    async close() {
      closing.abort();
      await client.dispose();
    },
  };
}

function createClient(connectionString: string): EventStoreDBClient {
  const client = EventStoreDBClient.connectionString(connectionString);
  // One gRPC call an append. The client's batch append was rejected: it ignores its deadline, keeps the
  // appends of all clients of a process in one table which the error of any of them empties, and then
  // throws, outside of any promise, when an answer finds its entry gone.
  Object.defineProperty(client, 'supports', { value: async () => false });
  return client;
}

function proposedEvent({ id, type, data, metadata }: Parameters<EventStore['append']>[2][number]) {
  return jsonEvent({ id, type, data, metadata });
}

function ours(resolved: readonly (ResolvedEvent | AllStreamResolvedEvent)[]): RecordedEvent[] {
  return resolved.map(recorded).filter((event) => event !== null);
}

/** A read has no deadline of its own in the client. */
async function collected<Resolved>(
  read: StreamingRead<Resolved>,
  timeoutMs: number,
): Promise<Resolved[]> {
  const resolved: Resolved[] = [];
  const collect = async () => {
    for await (const item of read) resolved.push(item);
    return resolved;
  };
  try {
    return await within(collect(), timeoutMs);
  } finally {
    await read.cancel().catch(() => undefined);
  }
}
