/**
 * The contents of an event, for every client of EventStoreDB. Somebody else may write into our streams
 * what is not ours; it must not stop the reader, nor be skipped in silence.
 */
import type { EventMetadata, JsonObject, RecordedEvent } from '../port.js';

/** Of an event that cannot be read: newer than any reader knows, so that readers refuse it as such. */
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

/** Data and metadata out of their bytes. */
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

/** Whatever has these two was written by an adapter of ours. */
function isMetadata(value: unknown): value is EventMetadata {
  if (typeof value !== 'object' || value === null) return false;
  const { at, schemaVersion } = value as { at?: unknown; schemaVersion?: unknown };
  return typeof at === 'string' && typeof schemaVersion === 'number';
}
