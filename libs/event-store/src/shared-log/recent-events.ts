/** The last events that were read from the log, in order and without a gap, bounded by count and size. */
import type { LogPage, Position, RecordedEvent } from '../port.js';

export interface RecentEventsLimits {
  readonly eventsMax: number;
  /** Approximate: the size of the texts and numbers of the events. */
  readonly bytesMax: number;
}

interface Entry {
  readonly event: RecordedEvent;
  readonly sizeBytes: number;
}

export class RecentEvents {
  /** From index `first` on: all events after `start` and up to `end` that the reader asked for. */
  readonly #entries: (Entry | null)[] = [];
  /** Removing the dropped entries moves all others, so they stay until they are as many. */
  #first = 0;
  #sizeBytes = 0;
  #start: Position;
  #end: Position;
  /** Of the events at the start and at the end, if they are known. */
  #startId: string | undefined;
  #endId: string | undefined;

  /** @param startId of the event at `start`, if it is known */
  constructor(
    start: Position,
    private readonly limits: RecentEventsLimits,
    startId?: string,
  ) {
    this.#start = start;
    this.#end = start;
    this.#startId = startId;
    this.#endId = startId;
  }

  /** Exclusive. */
  get start(): Position {
    return this.#start;
  }

  /** Inclusive. */
  get end(): Position {
    return this.#end;
  }

  add({ events, position, eventId }: LogPage): void {
    for (const event of events) {
      const { data, storedData, metadata } = event;
      const sizeBytes = sizeOf(data) + sizeOf(storedData) + sizeOf(metadata);
      this.#entries.push({ event, sizeBytes });
      this.#sizeBytes += sizeBytes;
    }
    this.#end = position;
    this.#endId = eventId;
    this.#dropOldest();
  }

  /** The id of the event at a position. Undefined where it is not known. */
  eventIdAt(position: Position): string | undefined {
    if (position === this.#end) return this.#endId;
    if (position === this.#start) return this.#startId;
    const event = this.#entries[this.#firstAfter(position) - 1]?.event;
    return event?.position === position ? event.id : undefined;
  }

  /** The events after `after`, which must not be before `start`. Null without any. */
  pageAfter(after: Position, matches: StreamMatch, pageMax: number): LogPage | null {
    if (after >= this.#end) return null;
    const events: RecordedEvent[] = [];
    for (let index = this.#firstAfter(after); index < this.#entries.length; index += 1) {
      const event = this.#entries[index]?.event;
      if (event === undefined || !matches(event.streamId)) continue;
      events.push(event);
      if (events.length === pageMax) return { events, position: event.position, eventId: event.id };
    }
    const end = { events, position: this.#end };
    return this.#endId === undefined ? end : { ...end, eventId: this.#endId };
  }

  #firstAfter(after: Position): number {
    let low = this.#first;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const position = this.#entries[middle]?.event.position ?? '';
      if (position > after) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #dropOldest(): void {
    const { eventsMax, bytesMax } = this.limits;
    while (this.#entries.length - this.#first > eventsMax || this.#sizeBytes > bytesMax) {
      const oldest = this.#entries[this.#first];
      if (oldest == null) break;
      this.#sizeBytes -= oldest.sizeBytes;
      this.#start = oldest.event.position;
      this.#startId = oldest.event.id;
      this.#entries[this.#first] = null;
      this.#first += 1;
    }
    if (this.#first * 2 <= this.#entries.length) return;
    this.#entries.splice(0, this.#first);
    this.#first = 0;
  }
}

export type StreamMatch = (streamId: string) => boolean;

export function matching(streamPrefixes: readonly string[] | undefined): StreamMatch {
  if (streamPrefixes === undefined) return () => true;
  return (streamId) => streamPrefixes.some((prefix) => streamId.startsWith(prefix));
}

const scalarBytes = 8;

/** Without recursion: deeply nested data of a foreign event must not stop the reader. */
function sizeOf(value: unknown): number {
  let sizeBytes = 0;
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    sizeBytes += scalarBytes;
    if (typeof next === 'string') sizeBytes += next.length;
    else if (typeof next === 'object' && next !== null)
      for (const field of Object.values(next)) left.push(field);
  }
  return sizeBytes;
}
