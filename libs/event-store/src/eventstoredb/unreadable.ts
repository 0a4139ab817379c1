/**
 * The contents of an event, for every client of EventStoreDB. Another system may write foreign events into
 * our streams. They must not stop the reader, and must not be skipped silently.
 */
import type { EventMetadata, JsonObject, RecordedEvent } from '../port.js';

/** The version of an unreadable event: newer than any reader knows, so that every reader refuses it. */
export const unreadableSchemaVersion = Number.MAX_SAFE_INTEGER;

const unreadable: EventMetadata = {
  at: new Date(0).toISOString(),
  schemaVersion: unreadableSchemaVersion,
  actor: 'system:unknown',
  requestId: null,
  correlationId: '',
  causationId: null,
  traceparent: null,
  previousHash: null,
};

/** Parses data and metadata. */
export function contentsOf(
  data: Uint8Array,
  metadata: Uint8Array,
): Pick<RecordedEvent, 'data' | 'metadata'> {
  const contents = { data: objectIn(data), metadata: objectIn(metadata) };
  return contents.data === null || !isMetadata(contents.metadata)
    ? { data: {}, metadata: unreadable }
    : { data: contents.data, metadata: contents.metadata };
}

function objectIn(bytes: Uint8Array): JsonObject | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as JsonObject) : null;
  } catch {
    return null;
  }
}

/** An event with these two fields was written by one of our adapters. */
function isMetadata(value: unknown): value is EventMetadata {
  if (typeof value !== 'object' || value === null) return false;
  const { at, schemaVersion } = value as { at?: unknown; schemaVersion?: unknown };
  return typeof at === 'string' && typeof schemaVersion === 'number';
}
