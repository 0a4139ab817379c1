/** EventStoreDB's records and positions in the port's shapes. */
import {
  type AllStreamResolvedEvent,
  type Position as LogPosition,
  type ResolvedEvent,
  START,
} from '@eventstore/db-client';
import type { JsonObject, EventMetadata, Position, RecordedEvent } from '../port.js';

/** Names of EventStoreDB's own streams begin with `$`; this matches all others. */
export const ourStreams = '^[^$]';

const digits = 20;
const positionForm = /^\d{40}$/;

/** Commit and prepare position, each in 20 digits: the order of the text is the order of the log. */
export function positionText({ commit, prepare }: LogPosition): Position {
  return String(commit).padStart(digits, '0') + String(prepare).padStart(digits, '0');
}

export function logPosition(position: Position): LogPosition | typeof START {
  if (position === '') return START;
  if (!positionForm.test(position))
    throw new TypeError(`${JSON.stringify(position)} is not a position`);
  return { commit: BigInt(position.slice(0, digits)), prepare: BigInt(position.slice(digits)) };
}

/** Null for what this adapter did not write: system streams, links, events that are not JSON. */
export function recorded({ event }: ResolvedEvent | AllStreamResolvedEvent): RecordedEvent | null {
  if (event === undefined || !event.isJson || event.streamId.startsWith('$')) return null;
  const { streamId, id, type, position } = event;
  if (position === undefined) throw new Error('EventStoreDB before 22.10 tells no positions');
  return {
    streamId,
    revision: Number(event.revision),
    position: positionText(position),
    id,
    type,
    data: event.data as JsonObject,
    // Written by proposeAppend, as JSON of exactly this type.
    metadata: event.metadata as unknown as EventMetadata,
  };
}
