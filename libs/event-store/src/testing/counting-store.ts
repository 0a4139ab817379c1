/** An event store that counts what is asked of it: round trips and events, which tests hold to a bound. */
import type { EventStore, RecordedEvent } from '../port.js';

export interface Counts {
  appends: number;
  /** Streams read: one that is read in a call with others counts as one. */
  reads: number;
  /** Events that the reads returned. */
  events: number;
  /** Pages of the log. */
  pages: number;
}

export interface CountingStore extends EventStore {
  /** What was counted since the last call. */
  counted(): Counts;
}

const none: Counts = { appends: 0, reads: 0, events: 0, pages: 0 };

export function countingStore(store: EventStore): CountingStore {
  let counts: Counts = { ...none };
  const read = (events: readonly RecordedEvent[]) => {
    counts.reads += 1;
    counts.events += events.length;
    return events;
  };
  return {
    ...store,
    append: (...given) => {
      counts.appends += 1;
      return store.append(...given);
    },
    readStream: async (...given) => read(await store.readStream(...given)),
    readStreams: async (streamIds) => (await store.readStreams(streamIds)).map(read),
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
