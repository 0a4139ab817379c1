/** Converts an event of EventStoreDB into one of the port, for every client. */
import type { Position, RecordedEvent } from '../port.js';
import type { Namespace } from './namespace.js';
import { contentsOf } from './unreadable.js';

export interface StoredEvent {
  /** Of the stream, with its namespace. */
  readonly name: string;
  readonly revision: bigint | string;
  readonly position: Position;
  readonly id: string;
  readonly type: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

/** Null for an event that is not ours: the server's own, or another system's. */
export function recordedOf(namespace: Namespace, stored: StoredEvent): RecordedEvent | null {
  const { name, revision, position, id, type, data, metadata } = stored;
  const streamId = namespace.remove(name);
  // A type that begins with $ is the server's own, such as a link or the mark of a deleted stream.
  if (streamId === null || type.startsWith('$')) return null;
  const contents = contentsOf(data, metadata);
  return { streamId, revision: Number(revision), position, id, type, ...contents };
}
