/** An event store that counts round trips and events, so that tests can limit them. */
import type { EventStore, ReadOptions, RecordedEvent } from '../port.js';

export interface Counts {
  appends: number;
  /** Streams read. A stream that is read in one call with others counts as one. */
  reads: number;
  /** Events that the reads returned. */
  events: number;
  /** Pages of the log. */
  pages: number;
}

export interface CountingStore extends EventStore {
  /** The counts since the last call. */
  counted(): Counts;
}

const none: Counts = { appends: 0, reads: 0, events: 0, pages: 0 };

export interface CountingOptions {
  /** The streams whose appends and reads count; a read of one stream with its options. All when absent. */
  readonly counts?: (streamId: string, read?: ReadOptions) => boolean;
}

export function countingStore(
  store: EventStore,
  { counts: isCounted = () => true }: CountingOptions = {},
): CountingStore {
  let counts: Counts = { ...none };
  const read = (streamId: string, events: readonly RecordedEvent[], options?: ReadOptions) => {
    if (!isCounted(streamId, options)) return events;
    counts.reads += 1;
    counts.events += events.length;
    return events;
  };
  return {
    ...store,
    append: (streamId, ...given) => {
      if (isCounted(streamId)) counts.appends += 1;
      return store.append(streamId, ...given);
    },
    readStream: async (streamId, options) =>
      read(streamId, await store.readStream(streamId, options), options),
    readStreams: async (streamIds) => {
      const streams = await store.readStreams(streamIds);
      return streams.map((events, index) => read(streamIds[index] ?? '', events));
    },
    readLog: async (options) => {
      counts.pages += 1;
      return store.readLog(options);
    },
    counted: () => {
      const sinceLast = counts;
      counts = { ...none };
      return sinceLast;
    },
  };
}
