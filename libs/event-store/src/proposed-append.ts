/**
 * The checks of every adapter before it writes, so that every adapter refuses an invalid append alone and
 * in the same way. Also the JSON of the events, created once.
 */
import {
  EventTooLarge,
  type EventToAppend,
  type ExpectedRevision,
  type RecordedEvent,
  appendSizeMaxBytes,
  eventSizeMaxBytes,
} from './port.js';

/** Events of one append, at most. */
const appendEventsMax = 500;
const nameMaxLength = 512;

export interface ProposedEvent {
  readonly id: string;
  readonly type: string;
  /** JSON text. NUL and lone surrogates are escaped by JSON.stringify: every store can store it. */
  readonly data: string;
  readonly metadata: string;
}

export interface ProposedAppend {
  readonly streamId: string;
  readonly expected: ExpectedRevision;
  readonly events: readonly ProposedEvent[];
  readonly sizeBytes: number;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * @throws EventTooLarge
 * @throws TypeError or RangeError for a call that is a program error
 */
export function proposeAppend(
  streamId: string,
  expected: ExpectedRevision,
  events: readonly EventToAppend[],
): ProposedAppend {
  if (!isStreamId(streamId)) throw new TypeError(`${JSON.stringify(streamId)} is not a stream ID`);
  if (expected !== 'noStream' && !(Number.isInteger(expected) && expected >= 0))
    throw new RangeError(`expected revision ${expected} is not a whole number of at least 0`);
  if (events.length === 0 || events.length > appendEventsMax)
    throw new RangeError(
      `an append must have 1 to ${appendEventsMax} events, not ${events.length}`,
    );
  const ids = new Set(events.map((event) => event.id));
  if (ids.size !== events.length) throw new TypeError('two events of an append have the same id');
  let sizeBytes = 0;
  const proposed = events.map(({ id, type, data, metadata }) => {
    if (!uuid.test(id)) throw new TypeError(`event id ${id} is not a UUID in lower case`);
    if (!isName(type)) throw new TypeError(`${JSON.stringify(type)} is not an event type`);
    const event = { id, type, data: JSON.stringify(data), metadata: JSON.stringify(metadata) };
    const eventBytes = Buffer.byteLength(event.data) + Buffer.byteLength(event.metadata);
    if (eventBytes > eventSizeMaxBytes) throw new EventTooLarge(streamId, eventBytes);
    // EventStoreDB counts the type, too, in UTF-16.
    sizeBytes += eventBytes + 2 * type.length;
    return event;
  });
  if (sizeBytes > appendSizeMaxBytes)
    throw new EventTooLarge(streamId, sizeBytes, appendSizeMaxBytes);
  return { streamId, expected, events: proposed, sizeBytes };
}

/**
 * Whether a stream can have this name. `$` begins the names of EventStoreDB's own streams; NUL and lone
 * surrogates are not text to PostgreSQL.
 */
export function isStreamId(streamId: string): boolean {
  return isName(streamId) && !streamId.startsWith('$');
}

function isName(name: string): boolean {
  return name !== '' && name.length <= nameMaxLength && !name.includes('\0') && name.isWellFormed();
}

/** Parses the JSON of proposeAppend. */
export function recordedEvent(stored: {
  readonly streamId: string;
  readonly revision: number;
  readonly position: string;
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
}): RecordedEvent {
  const data = JSON.parse(stored.data) as RecordedEvent['data'];
  const metadata = JSON.parse(stored.metadata) as RecordedEvent['metadata'];
  return { ...stored, data, metadata };
}
