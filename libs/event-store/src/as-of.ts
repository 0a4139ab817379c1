/**
 * Streams as of a time: what an event says about its record counts from the time of the event on.
 *
 * What always holds: a stream as of a time is all its events before the first one with a later time. So it is the
 * stream as it stood at one revision, and no state made of it has a time after the one asked for. Clocks of processes
 * differ: an event may have an earlier time than the one before it. It then counts together with that one. A later
 * answer for the same time is the same, unless an event with an earlier time was still being appended.
 */
import type { EventStore, RecordedEvent } from './port.js';

/** Events per read. A list of the past has many streams read, beside the requests of others. */
const pageMax = 50;

/** @param at ISO 8601 in UTC with milliseconds, inclusive */
export function eventsAsOf(events: readonly RecordedEvent[], at: string): readonly RecordedEvent[] {
  const later = events.findIndex(({ metadata }) => metadata.at > at);
  return later === -1 ? events : events.slice(0, later);
}

/**
 * The same of a stream, a page at a time: what follows in the stream is not read.
 * @throws StoreUnavailable
 */
export async function* pagesAsOf(
  store: Pick<EventStore, 'readStream'>,
  streamId: string,
  at: string,
): AsyncGenerator<readonly RecordedEvent[], void, undefined> {
  for (let from = 0; ; from += pageMax) {
    const page = await store.readStream(streamId, { from, maxCount: pageMax });
    const wanted = eventsAsOf(page, at);
    if (wanted.length > 0) yield wanted;
    if (wanted.length < pageMax) return;
  }
}
