/** An event as the store keeps it, and what the audit computes of it alone, without its neighbors. */
import { hash } from 'node:crypto';
import {
  canonicalJson,
  type JsonObject,
  type Position,
  type RecordedEvent,
} from '@pis/event-store';
import { checkpointStream, hashOfLeaf } from '../leaf.js';
import { readJson } from './canonical-text.js';

/** With data and metadata as JSON text. */
export interface StoredEvent {
  readonly streamId: string;
  readonly revision: number;
  readonly position: Position;
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
}

/** What a malformed event may lack is null. */
export interface ReadMetadata {
  readonly at: string | null;
  readonly actor: string | null;
  readonly schemaVersion: number | null;
  readonly previousHash: string | null;
}

export interface EventReading {
  readonly event: Omit<StoredEvent, 'data' | 'metadata'>;
  readonly data: JsonObject;
  readonly metadata: ReadMetadata;
  /** SHA-256, hex: that of hashOfEvent. */
  readonly eventHash: string;
  /** Of the log's tree; null for an event that is no leaf. */
  readonly leafHash: Buffer | null;
}

/** What a port's reader knows of an event, in the form of this library. */
export function storedEventOf(recorded: RecordedEvent): StoredEvent {
  const { streamId, revision, position, id, type, metadata } = recorded;
  const data = JSON.stringify(recorded.storedData ?? recorded.data);
  return { streamId, revision, position, id, type, data, metadata: JSON.stringify(metadata) };
}

/** @throws Error when data or metadata are no JSON objects */
export function readEvent(stored: StoredEvent): EventReading {
  const data = readJson(stored.data);
  const metadata = readJson(stored.metadata);
  if (!isObject(data.value)) throw new Error('its data is no JSON object');
  if (!isObject(metadata.value)) throw new Error('its metadata is no JSON object');
  const { streamId, revision, id, type } = stored;
  const quotedId = JSON.stringify(id);
  const quotedStream = JSON.stringify(streamId);
  const quotedType = JSON.stringify(type);
  // Canonical JSON: the keys are in order.
  const eventHash = hash(
    'sha256',
    `{"data":${data.canonical},"id":${quotedId},"metadata":${metadata.canonical},"revision":${revision},` +
      `"streamId":${quotedStream},"type":${quotedType}}`,
    'hex',
  );
  const { at, actor, schemaVersion, previousHash } = metadata.value;
  const recordedAt = at === undefined ? '' : `"recordedAt":${canonicalJson(at)},`;
  const leaf =
    `{"eventHash":"${eventHash}","id":${quotedId},${recordedAt}"revision":${revision},` +
    `"streamId":${quotedStream},"type":${quotedType}}`;
  return {
    event: stored,
    data: data.value,
    metadata: {
      at: textOf(at),
      actor: textOf(actor),
      schemaVersion: typeof schemaVersion === 'number' ? schemaVersion : null,
      previousHash: textOf(previousHash),
    },
    eventHash,
    leafHash: streamId === checkpointStream ? null : hashOfLeaf(leaf),
  };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
