/** The event store of unit tests: the same guarantees, with an array that is lost with the process. */
import { Bell } from '@pis/postgres';
import { type SubscribedPage, pagedSubscription } from '../paged-subscription.js';
import {
  type AppendResult,
  type EventStore,
  EventsLost,
  type ReadLogOptions,
  type RecordedEvent,
  StoreUnavailable,
  WrongExpectedRevision,
  beginning,
} from '../port.js';
import { type ProposedAppend, proposeAppend, recordedEvent } from '../proposed-append.js';

/** Every read yields to the event loop first, as a store over a network does. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
const pageMaxDefault = 500;
const hourMs = 3_600_000;

/** State that several stores may share, like processes share a server. */
export class MemoryLog {
  readonly events: RecordedEvent[] = [];
  readonly streams = new Map<string, RecordedEvent[]>();
  readonly bell = new Bell();

  append({ streamId, expected, events }: ProposedAppend): AppendResult {
    const stream = this.streams.get(streamId) ?? [];
    const first = expected === 'noStream' ? 0 : expected + 1;
    if (stream.length !== first) {
      const before = stream.slice(first, first + events.length);
      const last = before.at(-1);
      if (last === undefined || !events.every((event, index) => event.id === before[index]?.id))
        throw new WrongExpectedRevision(
          streamId,
          expected,
          stream.length === 0 ? 'noStream' : stream.length - 1,
        );
      return { revision: last.revision, position: last.position };
    }
    for (const event of events) {
      const position = String(this.events.length + 1).padStart(20, '0');
      const recorded = recordedEvent({ ...event, streamId, revision: stream.length, position });
      freezeDeep(recorded);
      stream.push(recorded);
      this.events.push(recorded);
    }
    this.streams.set(streamId, stream);
    this.bell.ring();
    return { revision: stream.length - 1, position: this.events.at(-1)?.position ?? beginning };
  }
}

export function memoryEventStore(log: MemoryLog = new MemoryLog()): EventStore {
  const closing = new AbortController();
  const opened = async () => {
    await turn();
    if (closing.signal.aborted) throw new StoreUnavailable('the store is closed');
  };

  const readLog = async ({
    after,
    afterEventId,
    streamPrefixes,
    pageMax = pageMaxDefault,
  }: ReadLogOptions): Promise<SubscribedPage> => {
    await opened();
    const idBefore = (place: number) => log.events[place - 1]?.id;
    if (afterEventId !== undefined && idBefore(Number(after)) !== afterEventId)
      throw new EventsLost(after);
    const events: RecordedEvent[] = [];
    let read = Number(after);
    for (; read < log.events.length && events.length < pageMax; read += 1) {
      const event = log.events[read];
      if (event === undefined) break;
      if (streamPrefixes?.some((prefix) => event.streamId.startsWith(prefix)) ?? true)
        events.push(event);
    }
    const position = log.events[read - 1]?.position ?? after;
    const eventId = idBefore(read);
    const isLast = read >= log.events.length;
    return { events, position, isLast, ...(eventId !== undefined && { eventId }) };
  };

  return {
    sealing: null,

    async append(streamId, expected, events) {
      const proposed = proposeAppend(streamId, expected, events);
      await opened();
      return log.append(proposed);
    },

    async readStream(streamId, { from, direction = 'forwards', maxCount } = {}) {
      await opened();
      const stream = log.streams.get(streamId) ?? [];
      const events =
        direction === 'forwards'
          ? stream.slice(from ?? 0)
          : stream.slice(0, (from ?? stream.length) + 1).reverse();
      return events.slice(0, maxCount);
    },

    async readStreams(streamIds) {
      await opened();
      return streamIds.map((streamId) => [...(log.streams.get(streamId) ?? [])]);
    },

    async readLog(options) {
      const { isLast: _, ...page } = await readLog(options);
      return page;
    },

    async lastPosition() {
      await opened();
      return log.events.at(-1)?.position ?? beginning;
    },

    async lastEvent(upTo) {
      await opened();
      return log.events[Math.min(Number(upTo), log.events.length) - 1] ?? null;
    },

    subscribe: ({ signal, ...options }) =>
      pagedSubscription(
        {
          readLog,
          bell: log.bell,
          pollIntervalMs: () => hourMs,
          retryInitialMs: 1,
          retryMaxMs: 1,
        },
        { ...options, signal: AbortSignal.any([signal, closing.signal]) },
      ),

    ping: opened,
    close: async () => closing.abort(),
  };
}

function freezeDeep(value: object): void {
  Object.freeze(value);
  for (const field of Object.values(value))
    if (typeof field === 'object' && field !== null) freezeDeep(field);
}
